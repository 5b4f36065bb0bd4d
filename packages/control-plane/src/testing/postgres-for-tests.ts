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

/** A real PostgreSQL of the tests' own. Durability is off: nothing here outlives the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const parts =
    process.env["MOORAGE_PARTS"] ?? join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "moorage-parts");
  const programs = join(parts, "postgres/current/bin");
  const folder = mkdtempSync(join(tmpdir(), "moorage-tests-"));
  chownSync(folder, NOBODY, NOBODY);
  const port = await freePort();
  const asNobody = { uid: NOBODY, gid: NOBODY, cwd: folder };
  const data = join(folder, "data");
  await run(
    join(programs, "initdb"),
    [
      "-D",
      data,
      "-U",
      "postgres",
      "-A",
      "trust",
      "-E",
      "UTF8",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "-N",
    ],
    asNobody,
  );
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder} -c fsync=off -c max_connections=200`;
  await run(join(programs, "pg_ctl"), ["-D", data, "-w", "-l", join(folder, "log"), "-o", settings, "start"], asNobody);

  const url = `postgres://postgres@127.0.0.1:${port}`;
  const admin = createPool(`${url}/postgres`, 1);
  await admin.query("create database template");
  await admin.end();
  const db = createDb(createPool(`${url}/template`, 1));
  // The previous commit's tests run on this commit's schema: see tools/previous-tests-on-new-schema.ts.
  await migrate(db, process.env["MOORAGE_TEST_MIGRATIONS"] ?? join(import.meta.dirname, "../../migrations"), 1);
  await db.destroy();
  project.provide("postgresUrl", url);

  return async () => {
    await run(join(programs, "pg_ctl"), ["-D", data, "-m", "immediate", "stop"], asNobody);
    rmSync(folder, { recursive: true, force: true });
  };
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
