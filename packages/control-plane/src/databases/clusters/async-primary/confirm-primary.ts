import type { HostsToWake } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../database-store.ts";
import type { ObservedMember } from "../health/member-condition.ts";
import { agreedPrimary } from "../rolling/order.ts";
import { confirmPrimary, findPrimary, sendPrimary } from "./primary-store.ts";

/**
 * All members are together under the one that was made the leader: how that came about is over, and not asked for again
 * when its server starts the next time. Whoever gave over to it may be gone by then. The caller holds the database's row.
 */
export async function confirmWhenHealthy(
  tx: Tx,
  database: DatabaseRow,
  members: readonly ObservedMember[],
  at: Date,
): Promise<HostsToWake> {
  const primary = await findPrimary(tx, database);
  if (primary === undefined || primary.reason === "fenced") return { hosts: [] };
  const agreed = agreedPrimary(members.map(({ node, report }) => ({ node, group: report })));
  if (agreed !== primary.node || members.some(({ report }) => report?.term !== primary.term)) return { hosts: [] };
  return sendPrimary(tx, database, await confirmPrimary(tx, database, primary, at));
}
