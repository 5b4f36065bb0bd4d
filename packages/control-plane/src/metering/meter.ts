import { type Insertable, type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

export type UsageFactRow = Selectable<Tables["usage_facts"]>;
export type UsageFact = Omit<Insertable<Tables["usage_facts"]>, "sequence" | "at">;

/**
 * Records what a resource is from now on, in the transaction that changes it. The caller holds the lock of the
 * resource's row; afterwards it also holds the account's. An unchanged state is not recorded again, a resource that
 * never ran does not end, and a closed account is not metered.
 *
 * The statement that reads `invoiced_through` locks the account's row: a fact is either written before its month is
 * rated, or counts from the end of that month.
 */
export async function meter(tx: Tx, fact: UsageFact, at: Date): Promise<void> {
  const { account_id, resource_type, resource_id, state, plan, nodes, region, label } = fact;
  await sql`
    with account as (
      select invoiced_through from accounts where id = ${account_id} and closed_at is null for no key update
    ), last as (
      select * from usage_facts
      where account_id = ${account_id} and resource_type = ${resource_type} and resource_id = ${resource_id}
      order by sequence desc limit 1
    )
    insert into usage_facts (account_id, resource_type, resource_id, sequence, at, state, plan, nodes, region, label)
    select ${account_id}, ${resource_type}, ${resource_id}, coalesce(last.sequence, 0) + 1,
      greatest(${at}::timestamptz, last.at, account.invoiced_through), ${state}, ${plan}, ${nodes}, ${region}, ${label}
    from account left join last on true
    where case when ${state} = 'ended' then last.state <> 'ended'
      else (last.state, last.plan, last.nodes, last.region, last.label)
        is distinct from (${state}, ${plan}, ${nodes}::integer, ${region}, ${label}) end`.execute(tx);
}

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
