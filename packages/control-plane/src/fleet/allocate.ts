import { randomUUID } from "node:crypto";
import { clonesPerHost } from "@moorage/contract/agent";
import type { Tx } from "#platform/db/database.ts";
import { choosePort } from "./choose-port.ts";
import { candidateHosts, findHost, lockHosts, lockRegion, reserve } from "./host-store.ts";
import { countClones, findNodes, hostsWithPort, type NodeRow, portUses, untouched } from "./node-store.ts";
import { type Need, place } from "./placement.ts";

export type NodeRequest = Need & { accountId: number; databaseId: number; region: string };

/**
 * Assigns nodes to a database in one transaction: hosts, one port that is free on all of them and on most others, and
 * the reservation. Repeatable: a database that has nodes keeps them. Undefined: no room.
 */
export async function allocateNodes(tx: Tx, request: NodeRequest, now: Date): Promise<NodeRow[] | undefined> {
  const existing = await findNodes(tx, request.accountId, request.databaseId);
  if (existing.length > 0) return existing;

  // One placement at a time per region: each sees what the previous one reserved, so a burst spreads over the hosts.
  await lockRegion(tx, request.region);
  const hostIds = place(await candidateHosts(tx, request.region), request, now);
  if (hostIds === undefined) return undefined;
  await lockHosts(tx, hostIds);
  const port = choosePort(await portUses(tx, request.region, hostIds), request.databaseId);
  if (port === undefined) return undefined;
  await insertNodes(
    tx,
    hostIds.map((hostId, ordinal) => ({ ...request, hostId, ordinal, port })),
    now,
  );
  return findNodes(tx, request.accountId, request.databaseId);
}

type Replacement = Omit<NodeRequest, "count" | "taken"> & Pick<NodeRow, "ordinal" | "port">;

/**
 * Allocates a replacement that clones its data from another member. Repeatable. Undefined: no room. "hosts are
 * busy": each host that has room receives as many clones as it may.
 */
export async function allocateReplacement(
  tx: Tx,
  request: Replacement,
  now: Date,
): Promise<NodeRow | "hosts are busy" | undefined> {
  const found = await findPlace(tx, request, now);
  if (found.node !== undefined) return found.node;
  const cloning = await countClones(tx, request.region);
  const hostId = found.choose((id) => (cloning.get(id) ?? 0) < clonesPerHost);
  if (hostId !== undefined) return insertNode(tx, request, hostId, now);
  return found.choose(() => true) === undefined ? undefined : "hosts are busy";
}

/** Allocates a replacement that restores its data from the archive. Repeatable. Undefined: no room. */
export async function allocateElsewhere(tx: Tx, request: Replacement, now: Date): Promise<NodeRow | undefined> {
  const found = await findPlace(tx, request, now);
  if (found.node !== undefined) return found.node;
  const hostId = found.choose(() => true);
  return hostId === undefined ? undefined : insertNode(tx, request, hostId, now);
}

type Place =
  | { node: NodeRow }
  /** A host among those that a condition admits; undefined: none has room. */
  | { node?: undefined; choose: (isFree: (hostId: number) => boolean) => number | undefined };

/**
 * The node that has the ordinal already, or a choice of hosts for one with the same ordinal and port: without a node of
 * this database, in another failure domain where there is one. The replaced node must not count as a member any more.
 */
async function findPlace(tx: Tx, request: Replacement, now: Date): Promise<Place> {
  const others = await findNodes(tx, request.accountId, request.databaseId);
  const node = others.find(({ ordinal }) => ordinal === request.ordinal);
  if (node !== undefined) return { node };

  await lockRegion(tx, request.region);
  const used = new Set(await hostsWithPort(tx, request.port));
  const taken: string[] = [];
  for (const { host_id } of others) taken.push((await findHost(tx, host_id)).failure_domain);
  const candidates = (await candidateHosts(tx, request.region)).filter(({ id }) => !used.has(id));
  const need = { ...request, count: 1, taken };
  return {
    choose: (isFree) =>
      place(
        candidates.filter(({ id }) => isFree(id)),
        need,
        now,
      )?.[0],
  };
}

async function insertNode(tx: Tx, request: Replacement, hostId: number, now: Date): Promise<NodeRow | undefined> {
  await lockHosts(tx, [hostId]);
  await insertNodes(tx, [{ ...request, hostId }], now);
  return (await findNodes(tx, request.accountId, request.databaseId)).find(
    ({ ordinal }) => ordinal === request.ordinal,
  );
}

async function insertNodes(tx: Tx, requests: readonly (Replacement & { hostId: number })[], now: Date): Promise<void> {
  await tx
    .insertInto("nodes")
    .values(
      requests.map(({ accountId, databaseId, hostId, ordinal, port, memory_mb, disk_mb }) => ({
        account_id: accountId,
        id: randomUUID(),
        database_id: databaseId,
        host_id: hostId,
        ordinal,
        port,
        memory_mb,
        disk_mb,
        created_at: now,
        ...untouched,
      })),
    )
    .execute();
  for (const { hostId, memory_mb, disk_mb } of requests) await reserve(tx, hostId, memory_mb, disk_mb);
}

/** Frees the reservation of nodes that their hosts report as gone. Repeatable: a node is released once. */
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
