import type { GroupReport } from "@moorage/contract/agent";
import type { NodeRow } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";

/** What each member's host last said of its group, if it said anything. */
export async function reportsOf(tx: Tx, nodes: readonly Pick<NodeRow, "id">[]): Promise<Map<string, GroupReport>> {
  const ids = nodes.map(({ id }) => id);
  const rows = await tx.selectFrom("members").select(["node_id", "report"]).where("node_id", "in", ids).execute();
  return new Map(rows.flatMap(({ node_id, report }) => (report === null ? [] : [[node_id, report] as const])));
}
