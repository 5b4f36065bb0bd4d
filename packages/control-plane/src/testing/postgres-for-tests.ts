import { join } from "node:path";
import { freePort } from "@moorage/testkit/free-port.ts";
import { startPostgres } from "@moorage/testkit/postgres-server.ts";
import type { TestProject } from "vitest/node";
import { createDb, createPool } from "#platform/db/database.ts";
import { migrate } from "#platform/db/migrate.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A server with the migrated database `template`, which tests clone. */
    postgresUrl: string;
  }
}

let stop = async (): Promise<void> => {};
export const teardown = (): Promise<void> => stop();

/** A real PostgreSQL for the tests. */
export async function setup(project: TestProject): Promise<void> {
  const port = await freePort();
  const server = await startPostgres(port);
  stop = server.stop;

  await createTemplate(server.urlOf);
  project.provide("postgresUrl", `postgres://postgres@127.0.0.1:${port}`);
}

/** The database `template` with all migrations. */
export async function createTemplate(urlOf: (database: string) => string): Promise<void> {
  const admin = createPool(urlOf("postgres"), 1);
  await admin.query("create database template");
  await admin.end();
  const db = createDb(createPool(urlOf("template"), 1));
  // The previous commit's tests run on this commit's schema: see tools/previous-tests-on-new-schema.ts.
  await migrate(db, process.env["MOORAGE_TEST_MIGRATIONS"] ?? join(import.meta.dirname, "../../migrations"), 1);
  await db.destroy();
  // Leaves the catalogue's relation cache file in the template, so that the first session of a clone need not build it.
  const visitor = createPool(urlOf("template"), 1);
  await visitor.query("select 1");
  await visitor.end();
}
