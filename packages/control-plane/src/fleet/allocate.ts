import { randomUUID } from "node:crypto";
import type { Tx } from "#platform/db/database.ts";
import { candidateHosts, lockHosts, reserve } from "./host-store.ts";
import { findNodes, freePort, type NodeRow } from "./node-store.ts";
import { hasRoom, type Need, place } from "./placement.ts";

export type NodeRequest = Need & { accountId: number; databaseId: number; region: string };

/** How often a choice may be overtaken by another one before we say that there is no room. */
const ATTEMPTS = 5;

/**
 * Gives a database its nodes: hosts, a port free on all of them, and the reservation, in one transaction. Repeatable:
 * a database that has nodes keeps them. Undefined when there is no room.
 */
export async function allocateNodes(tx: Tx, request: NodeRequest, now: Date): Promise<NodeRow[] | undefined> {
  const existing = await findNodes(tx, request.accountId, request.databaseId);
  if (existing.length > 0) return existing;

  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const candidates = await candidateHosts(tx, request.region);
    const chosen = place(candidates, request, now);
    if (chosen === undefined) return undefined;
    const hosts = await lockHosts(tx, chosen);
    const trash = new Map(candidates.map(({ id, trash_mb }) => [id, trash_mb]));
    const stillFit = hosts.every((host) =>
      hasRoom({ ...host, trash_mb: trash.get(host.id) ?? 0, seen_at: now }, request),
    );
    if (!stillFit) continue;
    const port = await freePort(tx, chosen);
    if (port === undefined) return undefined;
    await tx
      .insertInto("nodes")
      .values(
        chosen.map((hostId, ordinal) => ({
          account_id: request.accountId,
          id: randomUUID(),
          database_id: request.databaseId,
          host_id: hostId,
          ordinal,
          port,
          memory_mb: request.memory_mb,
          disk_mb: request.disk_mb,
          wanted: null,
          waiting_operation_id: null,
          observed_state: null,
          observed_step: null,
          observed_message: null,
          observed_at: null,
          used_disk_mb: null,
          created_at: now,
          released_at: null,
        })),
      )
      .execute();
    for (const host of hosts) await reserve(tx, host.id, request.memory_mb, request.disk_mb);
    return findNodes(tx, request.accountId, request.databaseId);
  }
  return undefined;
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
