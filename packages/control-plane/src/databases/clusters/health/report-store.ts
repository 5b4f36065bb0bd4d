import type { GroupReport } from "@moorage/contract/agent";
import type { NodeRow } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";

/** The last group report of each member, if any. */
export async function reportsOf(tx: Tx, nodes: readonly Pick<NodeRow, "id">[]): Promise<Map<string, GroupReport>> {
  const ids = nodes.map(({ id }) => id);
  const rows = await tx.selectFrom("members").select(["node_id", "report"]).where("node_id", "in", ids).execute();
  return new Map(rows.flatMap(({ node_id, report }) => (report === null ? [] : [[node_id, report] as const])));
}
