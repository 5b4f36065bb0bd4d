import { join } from "node:path";
import { sql } from "kysely";
import { createDb, createPool } from "../../packages/control-plane/src/platform/db/database.ts";
import { migrate } from "../../packages/control-plane/src/platform/db/migrate.ts";
import { repo } from "../../tools/stack/paths.ts";
import { env } from "../kit/stack-env.ts";

/** A separate, migrated database on the stack's Postgres, dropped afterwards. */
export async function withBenchDatabase<T>(name: string, work: (databaseUrl: string) => Promise<T>): Promise<T> {
  const url = new URL(env("DATABASE_URL"));
  const admin = createPool(url.href, 1);
  await admin.query(`drop database if exists ${name} with (force)`);
  await admin.query(`create database ${name}`);
  url.pathname = `/${name}`;
  try {
    const db = createDb(createPool(url.href, 1));
    await migrate(db, join(repo, "packages/control-plane/migrations"), 1);
    await sql`select ensure_event_partitions(now(), 2)`.execute(db);
    await db.destroy();
    return await work(url.href);
  } finally {
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  }
}
