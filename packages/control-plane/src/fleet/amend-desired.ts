import { isDeepStrictEqual } from "node:util";
import type { NodeSpec } from "@moorage/contract/agent";
import type { Tx } from "#platform/db/database.ts";
import { lockHosts, raiseRevision } from "./host-store.ts";
import { lockNodes, type NodeRow } from "./node-store.ts";
import type { HostsToWake } from "./set-desired.ts";

/**
 * Changes part of the desired state of nodes without an operation that waits for it. The rest of the spec stays, and
 * operations that wait for an earlier generation accept the later one. Skips nodes that need no change, are lost or
 * have a tombstone.
 */
export async function amendDesired(
  tx: Tx,
  nodes: readonly Pick<NodeRow, "id" | "host_id">[],
  change: (spec: NodeSpec) => NodeSpec,
): Promise<HostsToWake> {
  if (nodes.length === 0) return { hosts: [] };
  await lockHosts(tx, [...new Set(nodes.map(({ host_id }) => host_id))]);
  const hosts = new Set<number>();
  for (const node of await lockNodes(
    tx,
    nodes.map(({ id }) => id),
  )) {
    if (node.desired_spec === null || node.tombstoned) continue;
    const changed = change(node.desired_spec);
    if (isDeepStrictEqual(changed, node.desired_spec)) continue;
    const generation = node.desired_generation + 1;
    await tx
      .updateTable("nodes")
      .set({
        desired_spec: JSON.stringify({ ...changed, generation }),
        desired_generation: generation,
        desired_revision: await raiseRevision(tx, node.host_id),
      })
      .where("id", "=", node.id)
      .execute();
    hosts.add(node.host_id);
  }
  return { hosts: [...hosts] };
}
