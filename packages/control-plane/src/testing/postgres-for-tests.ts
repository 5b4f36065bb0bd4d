import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { createDb, createPool } from "#platform/db/database.ts";
import { migrate } from "#platform/db/migrate.ts";

const run = promisify(execFile);

declare module "vitest" {
  interface ProvidedContext {
    /** A server with the migrated database `template`, which tests clone. */
    postgresUrl: string;
  }
}

const NOBODY = 65534;

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
];
const locale = ["-E", "UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];

let stop = async (): Promise<void> => {};
export const teardown = (): Promise<void> => stop();

/** A real PostgreSQL for the tests. Durability is off: nothing here outlives the run. */
export async function setup(project: TestProject): Promise<void> {
  const parts =
    process.env["MOORAGE_PARTS"] ?? join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "moorage-parts");
  removeLeftovers();
  const folder = mkdtempSync(join(roomyMemory() ?? tmpdir(), PREFIX));
  chownSync(folder, NOBODY, NOBODY);
  const program = (name: string, ...args: string[]) =>
    run("setpriv", [...asNobody, join(parts, "postgres/current/bin", name), ...args], { cwd: folder });
  const port = await freePort();
  const data = join(folder, "data");
  await program("initdb", "-D", data, "-U", "postgres", "-A", "trust", ...locale, "-N");
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: 300,
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    max_wal_size: "256MB",
  };
  const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  // It ends with this process, however that ends: its data may lie in memory.
  const postgres = join(parts, "postgres/current/bin/postgres");
  const server = spawn("setpriv", [...asNobody, "--pdeathsig=QUIT", postgres, "-D", data, ...given], {
    cwd: folder,
    stdio: "ignore",
  });
  const ended = once(server, "exit");

  stop = async () => {
    server.kill("SIGQUIT");
    await ended;
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  await untilServing(`postgres://postgres@127.0.0.1:${port}/postgres`, () => server.exitCode !== null);

  const url = `postgres://postgres@127.0.0.1:${port}`;
  const admin = createPool(`${url}/postgres`, 1);
  await admin.query("create database template");
  await admin.end();
  const db = createDb(createPool(`${url}/template`, 1));
  // The previous commit's tests run on this commit's schema: see tools/previous-tests-on-new-schema.ts.
  await migrate(db, process.env["MOORAGE_TEST_MIGRATIONS"] ?? join(import.meta.dirname, "../../migrations"), 1);
  await db.destroy();
  // Leaves the catalogue's relation cache file in the template, so that the first session of a clone need not build it.
  const visitor = createPool(`${url}/template`, 1);
  await visitor.query("select 1");
  await visitor.end();
  project.provide("postgresUrl", url);
}

async function untilServing(url: string, hasEnded: () => boolean): Promise<void> {
  for (;;) {
    const pool = createPool(url, 1);
    const serves = await pool.query("select 1").then(
      () => true,
      () => false,
    );
    await pool.end();
    if (serves) return;
    if (hasEnded()) throw new Error("The tests' PostgreSQL does not start.");
    await sleep(50);
  }
}

const PREFIX = "moorage-tests-";

/** Leftovers of killed runs: the server ended with its run, its data remain. */
function removeLeftovers(): void {
  for (const place of [MEMORY, tmpdir()].filter(existsSync))
    for (const name of readdirSync(place).filter((each) => each.startsWith(PREFIX)))
      if (!isServed(join(place, name))) rmSync(join(place, name), { recursive: true, force: true });
}

/** Its owner may just be creating it. */
function isServed(folder: string): boolean {
  const file = join(folder, "data", "postmaster.pid");
  if (!existsSync(file)) return true;
  return existsSync(`/proc/${readFileSync(file, "utf8").split("\n")[0]}`);
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

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() =>
        typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
