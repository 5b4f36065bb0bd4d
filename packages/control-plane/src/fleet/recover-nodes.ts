import type { NodeSpec } from "@moorage/contract/agent";
import type { Tx } from "#platform/db/database.ts";
import { raiseRevisionInRecovery, reserve } from "./host-store.ts";
import { type NodeRow, untouched } from "./node-store.ts";
import { nextGeneration, type UntimedSpec } from "./set-desired.ts";

/** What a recovery does to single nodes. The capability that owns the nodes decides which, and why. */

/** Restores a node's row from the spec on its host's disk. */
export async function adoptNode(tx: Tx, hostId: number, spec: NodeSpec, now: Date): Promise<NodeRow> {
  const row = {
    account_id: spec.database.account,
    id: spec.node,
    database_id: spec.database.id,
    host_id: hostId,
    ordinal: spec.ordinal,
    port: spec.network.port,
    memory_mb: spec.resources.memory_mb,
    disk_mb: spec.resources.disk_mb,
    created_at: now,
    ...untouched,
  };
  const node = await tx.insertInto("nodes").values(row).returningAll().executeTakeFirstOrThrow();
  await reserve(tx, hostId, node.memory_mb, node.disk_mb);
  return node;
}

/** Writes a node's desired spec again, in the new epoch. */
export async function reissueDesiredSpec(tx: Tx, node: NodeRow, spec: UntimedSpec, epoch: number): Promise<void> {
  const generation = nextGeneration(node, epoch);
  const timed: NodeSpec = { ...spec, epoch, generation };
  await tx
    .updateTable("nodes")
    .set({
      desired_spec: JSON.stringify(timed),
      desired_epoch: epoch,
      desired_generation: generation,
      desired_revision: await raiseRevisionInRecovery(tx, node.host_id),
      tombstoned: spec.tombstone !== undefined,
    })
    .where("id", "=", node.id)
    .execute();
}

/** The host has removed the node by an operation that this database no longer knows. */
export async function confirmGone(tx: Tx, node: NodeRow, now: Date): Promise<void> {
  await tx
    .updateTable("nodes")
    .set({ tombstoned: true, observed_state: "gone", released_at: now })
    .where("id", "=", node.id)
    .execute();
  await reserve(tx, node.host_id, -node.memory_mb, -node.disk_mb);
}

/** Withdraws the desired spec, so that no host creates an empty node where data were. */
export const clearDesiredSpec = (tx: Tx, node: NodeRow): Promise<unknown> =>
  tx.updateTable("nodes").set({ desired_spec: null }).where("id", "=", node.id).execute();

/** The host does not have the node of a cluster and will not report it: the others continue, and it is replaced. */
export async function markLost(tx: Tx, node: NodeRow, message: string, now: Date): Promise<void> {
  await tx
    .updateTable("nodes")
    .set({ observed_state: "failed", observed_message: message })
    .where("id", "=", node.id)
    .execute();
  await tx.updateTable("members").set({ report: null, unhealthy_since: now }).where("node_id", "=", node.id).execute();
  await tx.updateTable("clusters").set({ check_at: now }).where("database_id", "=", node.database_id).execute();
}

export const findHostNodes = (tx: Tx, hostId: number): Promise<NodeRow[]> =>
  tx
    .selectFrom("nodes")
    .selectAll()
    .where("host_id", "=", hostId)
    .where("released_at", "is", null)
    .orderBy("id")
    .forUpdate()
    .execute();
