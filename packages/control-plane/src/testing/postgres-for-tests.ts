import { execFile } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { createDb, createPool } from "#platform/db/database.ts";
import { migrate } from "#platform/db/migrate.ts";

const run = promisify(execFile);

declare module "vitest" {
  interface ProvidedContext {
    /** A server with the database `template`, migrated: tests clone it. */
    postgresUrl: string;
  }
}

const NOBODY = 65534;

/**
 * Postgres refuses root. Its programs may lie in a folder that only root may enter (a home), so the one privilege that
 * it keeps is to pass through folders; the secure bit lets access(2) know of it too.
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

/** A real PostgreSQL of the tests' own. Durability is off: nothing here outlives the run. */
export async function setup(project: TestProject): Promise<void> {
  const parts =
    process.env["MOORAGE_PARTS"] ?? join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "moorage-parts");
  const folder = mkdtempSync(join(tmpdir(), "moorage-tests-"));
  chownSync(folder, NOBODY, NOBODY);
  const program = (name: string, ...args: string[]) =>
    run("setpriv", [...asNobody, join(parts, "postgres/current/bin", name), ...args], { cwd: folder });
  const port = await freePort();
  const data = join(folder, "data");
  await program("initdb", "-D", data, "-U", "postgres", "-A", "trust", ...locale, "-N");
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off -c max_connections=300`;
  await program("pg_ctl", "-D", data, "-w", "-l", join(folder, "log"), "-o", settings, "start");

  stop = async () => {
    await program("pg_ctl", "-D", data, "-m", "immediate", "stop");
    rmSync(folder, { recursive: true, force: true });
  };

  const url = `postgres://postgres@127.0.0.1:${port}`;
  const admin = createPool(`${url}/postgres`, 1);
  await admin.query("create database template");
  await admin.end();
  const db = createDb(createPool(`${url}/template`, 1));
  // The previous commit's tests run on this commit's schema: see tools/previous-tests-on-new-schema.ts.
  await migrate(db, process.env["MOORAGE_TEST_MIGRATIONS"] ?? join(import.meta.dirname, "../../migrations"), 1);
  await db.destroy();
  // Leaves a summary of the catalogue there, which each clone has then and its first session need not make.
  const visitor = createPool(`${url}/template`, 1);
  await visitor.query("select 1");
  await visitor.end();
  project.provide("postgresUrl", url);
}

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
