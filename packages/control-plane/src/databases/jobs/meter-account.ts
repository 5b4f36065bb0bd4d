import { sql } from "kysely";
import { meter, type UsageFact } from "#metering/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { initialStatus } from "../model/database.ts";
import { meterDatabase } from "../model/usage.ts";

/** The account is closed: none of its resources costs anything from then on. */
export async function endMetering(tx: Tx, accountId: number, at: Date): Promise<void> {
  const { rows } = await sql<UsageFact>`
    select distinct on (resource_id) account_id, resource_type, resource_id, state, plan, nodes, region, label
    from usage_facts where account_id = ${accountId} and resource_type = 'database'
    order by resource_id, sequence desc`.execute(tx);
  for (const last of rows) if (last.state !== "ended") await meter(tx, { ...last, state: "ended" }, at);
}

/** The account is open again: each database costs what it is now. The caller has locked all of them. */
export async function meterAgain(tx: Tx, accountId: number, at: Date): Promise<void> {
  const kept = await tx
    .selectFrom("databases")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("deleted_at", "is", null)
    .where("status", "<>", initialStatus)
    .orderBy("id")
    .execute();
  for (const database of kept) await meterDatabase(tx, database, at);
}
