import { sql } from "kysely";
import type { Db } from "#platform/db/database.ts";

/**
 * Copies all rows, as a backup would. The returned function restores them, and makes the database look as it does after
 * every restore: as if another server had written the rows. `unnoticed`: it looks as if nothing had happened. A
 * later copy takes the place of this one.
 */
export async function copyOf(db: Db): Promise<(options?: { unnoticed?: boolean }) => Promise<void>> {
  const tables = await names(
    db,
    "select c.relname as name from pg_class c join pg_namespace n on n.oid = relnamespace \
where nspname = 'public' and relkind in ('r', 'p') and not relispartition and relname not like 'kysely%'",
  );
  const { rows: sequences } = await sql<{ name: string; last: number | null }>`
    select sequencename as name, last_value as last from pg_sequences where schemaname = 'public'`.execute(db);
  await sql`drop schema if exists copy cascade`.execute(db);
  await sql`create schema copy`.execute(db);
  for (const table of tables)
    await sql`create table ${sql.table(`copy.${table}`)} as table ${sql.table(table)}`.execute(db);

  return ({ unnoticed = false } = {}) =>
    db.transaction().execute(async (tx) => {
      // Without triggers: foreign keys, and the append-only audit.
      await sql`set local session_replication_role = replica`.execute(tx);
      for (const table of tables) {
        await sql`delete from ${sql.table(table)}`.execute(tx);
        await sql`insert into ${sql.table(table)} select * from ${sql.table(`copy.${table}`)}`.execute(tx);
      }
      for (const { name, last } of sequences)
        await sql`select setval(${name}::regclass, ${last ?? 1}, ${last !== null})`.execute(tx);
      if (unnoticed) return;
      await sql`update installation set (fingerprint, noticed_fingerprint, charges_fingerprint) =
        ('the earlier server', 'the earlier server', 'the earlier server')`.execute(tx);
      await sql`update hosts set proven_fingerprint = 'the earlier server'`.execute(tx);
    });
}

async function names(db: Db, query: string): Promise<string[]> {
  const { rows } = await sql.raw<{ name: string }>(query).execute(db);
  return rows.map(({ name }) => name);
}
