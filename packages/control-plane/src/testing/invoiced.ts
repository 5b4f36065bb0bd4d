import { sql } from "kysely";
import { invoiceAccounts } from "#billing/invoice-accounts.ts";
import { endOf } from "#billing/months.ts";
import { PLAN, REGION, type World } from "./world.ts";

/** Sets the price of a node of the plan, from the beginning. */
export const setPrice = (world: World, { hourly, monthly }: { hourly: number; monthly: number }): Promise<unknown> =>
  sql`
    insert into prices (plan, valid_from, hourly_micros, monthly_micros, suspended_hourly_micros, suspended_monthly_micros)
    values (${PLAN}, '2000-01-01T00:00:00Z', ${hourly}, ${monthly}, 0, 0)
    on conflict (plan, valid_from) do update set hourly_micros = ${hourly}, monthly_micros = ${monthly}`.execute(
    world.db,
  );

let resources = 0;

/** A database that ran in this span. The account is at least as old. */
export async function used(
  world: World,
  accountId: number,
  { from, to, label = "shop" }: { from: string; to?: string; label?: string },
): Promise<void> {
  await world.db
    .updateTable("accounts")
    .set({ created_at: sql`least(created_at, ${from}::timestamptz)` })
    .where("id", "=", accountId)
    .execute();
  const fact = {
    account_id: accountId,
    resource_type: "database" as const,
    resource_id: ++resources,
    plan: PLAN,
    nodes: 1,
    region: REGION,
    label,
  };
  await world.db
    .insertInto("usage_facts")
    .values({ ...fact, sequence: 1, at: new Date(from), state: "running" })
    .execute();
  if (to !== undefined)
    await world.db
      .insertInto("usage_facts")
      .values({ ...fact, sequence: 2, at: new Date(to), state: "ended" })
      .execute();
}

/** Like the worker, for the given accounts. */
export const endMonth = (
  world: World,
  month: string,
  accountIds: readonly number[],
  afterInvoices: Parameters<typeof invoiceAccounts>[2]["afterInvoices"] = async () => {},
): Promise<void> =>
  world.db
    .transaction()
    .execute((tx) => invoiceAccounts(tx, accountIds, { until: endOf(month), at: world.time.now, afterInvoices }));
