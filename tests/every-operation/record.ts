import { sql } from "kysely";
import type { World } from "../../packages/control-plane/src/testing/world.ts";

/** Every table, partitions separately. */
export async function tablesOf({ db }: World): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.oid::regclass::text as name from pg_class c
    where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace order by 1`.execute(db);
  return rows.map(({ name }) => name);
}

/** Everything that a change would leave behind: the row count and a checksum of each table. */
export async function recordOf(world: World): Promise<Record<string, string>> {
  const contents = (await tablesOf(world)).map(async (name) => {
    const { rows } = await sql<{ content: string }>`
      select count(*) || ' ' || coalesce(md5(string_agg(md5(row_.content), '' order by row_.content)), '') as content
      from (select t::text as content from ${sql.table(name)} t) row_`.execute(world.db);
    return [name, rows[0]?.content ?? ""] as const;
  });
  return Object.fromEntries(await Promise.all(contents));
}
