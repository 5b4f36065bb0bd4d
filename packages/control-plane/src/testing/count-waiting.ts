import { sql } from "kysely";
import type { World } from "./world.ts";

/** How many statements wait for a lock, so that a test can hold one until they do. */
export async function countWaiting({ db }: World): Promise<number> {
  const { rows } = await sql`select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
  return rows.length;
}
