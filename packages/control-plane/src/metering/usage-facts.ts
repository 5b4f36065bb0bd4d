import { sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { UsageFactRow } from "./meter.ts";

/** The usage of these accounts in a period: for each resource, its state at the start and all later changes. */
export async function usageOf(
  db: Db | Tx,
  accountIds: readonly number[],
  { from, until }: { from: Date; until: Date },
): Promise<Map<number, UsageFactRow[]>> {
  const { rows } = await sql<UsageFactRow>`
    select * from (
      select distinct on (account_id, resource_type, resource_id) * from usage_facts
      where account_id = any(${accountIds}::bigint[]) and at < ${from}
      order by account_id, resource_type, resource_id, sequence desc
    ) before where state <> 'ended'
    union all
    select * from usage_facts where account_id = any(${accountIds}::bigint[]) and at >= ${from} and at < ${until}
    order by account_id, resource_type, resource_id, sequence`.execute(db);
  return Map.groupBy(rows, ({ account_id }) => account_id);
}
