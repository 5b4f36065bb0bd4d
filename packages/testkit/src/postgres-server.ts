import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { partsDir, removeFolder } from "./folders.ts";

const run = promisify(execFile);

export const NOBODY = 65534;

/**
 * Postgres refuses root. Its programs may lie in a folder that only root may enter (a home), so the one privilege that
 * it keeps is to pass through folders; the secure bit makes access(2) respect it too.
 */
const asNobody = [
  `--reuid=${NOBODY}`,
  `--regid=${NOBODY}`,
  "--clear-groups",
  "--securebits=+no_setuid_fixup",
  "--inh-caps=-all,+dac_read_search",
  "--ambient-caps=-all,+dac_read_search",
  // They end with this process, however that ends: their data may lie in memory.
  "--pdeathsig=QUIT",
];
/** Else shared memory outlives a server that is killed. */
const memory = ["-c", "dynamic_shared_memory_type=mmap"];
const locale = ["-E", "UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];

export type PostgresServer = { urlOf: (database: string) => string; stop: () => Promise<void> };

const programAsNobody = (folder: string) => (name: string, args: readonly string[]) =>
  run("setpriv", [...asNobody, join(partsDir, "postgres/current/bin", name), ...args], { cwd: folder });

/** A folder for data and sockets, which `remove` or the next run removes. */
export function newServerFolder() {
  removeLeftovers();
  const folder = mkdtempSync(join(roomyMemory() ?? tmpdir(), `${PREFIX}${process.pid}-`));
  chownSync(folder, NOBODY, NOBODY);
  return { folder, remove: () => removeFolder(folder) };
}

export async function initData(folder: string, data: string): Promise<void> {
  await programAsNobody(folder)("initdb", ["-D", data, "-U", "postgres", "-A", "trust", ...locale, ...memory, "-N"]);
}

type Serving = { folder: string; data: string; listen: Record<string, string | number>; url: string };

/** Durability is off: nothing of it outlives the run. */
export async function serve({ folder, data, listen, url }: Serving) {
  const settings = {
    ...listen,
    max_connections: 300,
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    max_wal_size: "256MB",
  };
  const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const postgres = join(partsDir, "postgres/current/bin/postgres");
  const server = spawn("setpriv", [...asNobody, postgres, "-D", data, ...given], {
    cwd: folder,
    stdio: "ignore",
  });
  const ended = once(server, "exit");
  const end = async (signal: "SIGQUIT" | "SIGINT"): Promise<void> => {
    server.kill(signal);
    await ended;
  };
  await untilServing(url, () => server.exitCode !== null).catch(async (error: unknown) => {
    await end("SIGQUIT");
    throw error;
  });
  return {
    /** At once, as after a crash. */
    kill: () => end("SIGQUIT"),
    /** Cleanly: everything is on its disk. */
    shutDown: () => end("SIGINT"),
  };
}

/**
 * A PostgreSQL that ends with this process. Without a port it listens only on a socket in its own folder, which no other
 * program can take.
 */
export async function startPostgres(port?: number): Promise<PostgresServer> {
  const { folder, remove } = newServerFolder();
  const data = join(folder, "data");
  const urlOf = (database: string): string =>
    port === undefined ? urlAt(folder, database) : `postgres://postgres@127.0.0.1:${port}/${database}`;
  const listen =
    port === undefined
      ? { listen_addresses: "", unix_socket_directories: folder }
      : { listen_addresses: "127.0.0.1", port, unix_socket_directories: "" };
  try {
    await initData(folder, data);
    const { kill } = await serve({ folder, data, listen, url: urlOf("postgres") });
    return {
      urlOf,
      async stop() {
        await kill();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

export const urlAt = (folder: string, database: string): string =>
  `postgres://postgres@/${database}?host=${encodeURIComponent(folder)}`;

async function untilServing(url: string, hasEnded: () => boolean): Promise<void> {
  for (;;) {
    const pool = new pg.Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 15_000 });
    const serves = await pool.query("select 1").then(
      () => true,
      () => false,
    );
    await pool.end();
    if (serves) return;
    if (hasEnded()) throw new Error("This run's own PostgreSQL does not start.");
    await sleep(50);
  }
}

const PREFIX = "moorage-postgres-";

/** Leftovers of killed runs: the server ended with its run, its data remain. */
function removeLeftovers(): void {
  for (const place of [MEMORY, tmpdir()].filter(existsSync))
    for (const name of readdirSync(place)) {
      const owner = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
      if (owner !== undefined && !existsSync(`/proc/${owner}`))
        rmSync(join(place, name), { recursive: true, force: true });
    }
}

/**
 * Where memory is large enough the server's data lie there: every test clones the template, 12 MB in 400 files, which
 * takes four times as long on disk.
 */
function roomyMemory(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ROOM_BYTES ? MEMORY : undefined;
  } catch {
    return undefined;
  }
}
const MEMORY = "/dev/shm";
const ROOM_BYTES = 4 * 1024 ** 3;
