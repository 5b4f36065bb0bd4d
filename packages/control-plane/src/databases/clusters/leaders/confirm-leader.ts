import type { Wanted } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../database-store.ts";
import type { MemberSeen } from "../health/member-condition.ts";
import { agreedPrimary } from "../rolling/order.ts";
import { confirmLeader, findLeader, tellLeader } from "./leader-store.ts";

/**
 * All members are together under the one that was made the leader: how that came about is over, and not asked for again
 * when its server starts the next time. Whoever gave over to it may be gone by then. The caller holds the database's row.
 */
export async function confirmWhenWell(
  tx: Tx,
  database: DatabaseRow,
  members: readonly MemberSeen[],
  at: Date,
): Promise<Wanted> {
  const leader = await findLeader(tx, database);
  if (leader === undefined || leader.over === "fence") return { hosts: [] };
  const agreed = agreedPrimary(members.map(({ node, report }) => ({ node, group: report })));
  if (agreed !== leader.node || members.some(({ report }) => report?.term !== leader.term)) return { hosts: [] };
  return tellLeader(tx, database, await confirmLeader(tx, database, leader, at));
}
