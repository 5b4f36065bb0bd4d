import { randomUUID } from "node:crypto";
import type { Tx } from "#platform/db/database.ts";
import { candidateHosts, lockHosts, lockRegion, reserve } from "./host-store.ts";
import { findNodes, freePort, type NodeRow, untouched } from "./node-store.ts";
import { type Need, place } from "./placement.ts";

export type NodeRequest = Need & { accountId: number; databaseId: number; region: string };

/**
 * Gives a database its nodes: hosts, a port free on all of them, and the reservation, in one transaction. Repeatable:
 * a database that has nodes keeps them. Undefined when there is no room.
 */
export async function allocateNodes(tx: Tx, request: NodeRequest, now: Date): Promise<NodeRow[] | undefined> {
  const existing = await findNodes(tx, request.accountId, request.databaseId);
  if (existing.length > 0) return existing;

  // One placement at a time in a region: each sees what the one before it took, and a burst spreads.
  await lockRegion(tx, request.region);
  const hostIds = place(await candidateHosts(tx, request.region), request, now);
  if (hostIds === undefined) return undefined;
  await lockHosts(tx, hostIds);
  const port = await freePort(tx, hostIds);
  if (port === undefined) return undefined;
  await tx
    .insertInto("nodes")
    .values(
      hostIds.map((hostId, ordinal) => ({
        account_id: request.accountId,
        id: randomUUID(),
        database_id: request.databaseId,
        host_id: hostId,
        ordinal,
        port,
        memory_mb: request.memory_mb,
        disk_mb: request.disk_mb,
        created_at: now,
        ...untouched,
      })),
    )
    .execute();
  for (const hostId of hostIds) await reserve(tx, hostId, request.memory_mb, request.disk_mb);
  return findNodes(tx, request.accountId, request.databaseId);
}

/** Frees the place of nodes that their hosts say are gone. Repeatable: a node is released once. */
export async function releaseNodes(tx: Tx, ids: readonly string[], now: Date): Promise<NodeRow[]> {
  if (ids.length === 0) return [];
  const found = await tx.selectFrom("nodes").select("host_id").where("id", "in", ids).execute();
  await lockHosts(tx, [...new Set(found.map(({ host_id }) => host_id))]);
  const released = await tx
    .updateTable("nodes")
    .set({ released_at: now })
    .where("id", "in", ids)
    .where("tombstoned", "=", true)
    .where("observed_state", "=", "gone")
    .where("released_at", "is", null)
    .returningAll()
    .execute();
  for (const node of released) await reserve(tx, node.host_id, -node.memory_mb, -node.disk_mb);
  return released;
}
