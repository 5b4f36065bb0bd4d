import type { PrimaryTerm } from "@moorage/contract/agent";
import type { HostsToWake } from "#fleet/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../database-store.ts";
import { targetOf } from "../../entity.ts";
import { setPrimary, sendPrimary } from "../async-primary/primary-store.ts";

/**
 * Makes a member primary, perhaps the same one in a new term: row and specs of all members change together. The rest of
 * the specs stays, and so does every wait for it. The caller has locked the database's row, and no row of a cluster or
 * member yet.
 */
export async function promoteTo(
  tx: Tx,
  database: DatabaseRow,
  next: Pick<PrimaryTerm, "node" | "reason">,
  { actor, at }: { actor: string; at: Date },
): Promise<HostsToWake> {
  const { account_id, id } = database;
  const primary = await setPrimary(tx, database, next, at);
  const toWake = await sendPrimary(tx, database, primary);
  await audit(tx, { at, account: account_id, actor, action: "promote_node", target: targetOf(id), detail: primary });
  return toWake;
}
