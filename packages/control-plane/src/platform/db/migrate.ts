import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import { type Migration, type MigrationProvider, Migrator } from "kysely/migration";
import type { Db } from "./database.ts";

/** Forward only, plain SQL, one file per migration. */
const sqlFiles = (folder: string): MigrationProvider => ({
  async getMigrations() {
    const names = (await readdir(folder)).filter((name) => name.endsWith(".sql"));
    const migrations: Record<string, Migration> = {};
    for (const name of names) {
      const text = await readFile(join(folder, name), "utf8");
      migrations[name.replace(/\.sql$/, "")] = {
        up: async (db: Kysely<unknown>) => {
          // A migration that waits for a lock blocks everyone behind it: give up, to be run again.
          await sql`set local lock_timeout = '2s'`.execute(db);
          await sql.raw(text).execute(db);
        },
      };
    }
    return migrations;
  },
});

export async function migrate(db: Db, folder: string, cell: number): Promise<string[]> {
  const migrator = new Migrator({ db, provider: sqlFiles(folder) });
  const { error, results } = await migrator.migrateToLatest();
  if (error !== undefined) throw new Error("A migration failed; nothing of it was applied.", { cause: error });
  await db
    .insertInto("installation")
    .values({ cell, set_back_at: null, recovery_epoch: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await sql`select ensure_event_partitions(now(), 8)`.execute(db);
  return (results ?? []).map((result) => result.migrationName);
}
