import type { Tx } from "#platform/db/database.ts";
import { lockHosts, reserve } from "./host-store.ts";
import { lockNodes, type NodeRow } from "./node-store.ts";

type Size = { memory_mb: number; disk_mb: number };
type Placed = Pick<NodeRow, "id" | "host_id">;

/**
 * Reserves another size for nodes on their present hosts, for all or none. Repeatable: the size is absolute. False: no
 * room.
 */
export async function resizeNodes(tx: Tx, nodes: readonly Placed[], size: Size): Promise<boolean> {
  if (nodes.length === 0) return true;
  const hosts = await lockHosts(tx, [...new Set(nodes.map(({ host_id }) => host_id))]);
  const growths = await growthsOf(tx, nodes, size);
  for (const host of hosts) {
    const own = growths.filter(({ node }) => node.host_id === host.id);
    const [memory, disk] = [sum(own.map(({ memory_mb }) => memory_mb)), sum(own.map(({ disk_mb }) => disk_mb))];
    if (memory > 0 && host.reserved_memory_mb + memory > host.memory_mb) return false;
    if (disk > 0 && host.reserved_disk_mb + (await trashOf(tx, host.id)) + disk > host.disk_mb) return false;
  }
  await setSize(tx, nodes, size);
  return true;
}

/** The same for nodes that already have this size, whether or not there is room. */
export async function setSize(tx: Tx, nodes: readonly Placed[], size: Size): Promise<void> {
  for (const { node, memory_mb, disk_mb } of await growthsOf(tx, nodes, size)) {
    await reserve(tx, node.host_id, memory_mb, disk_mb);
    await tx
      .updateTable("nodes")
      .set({ memory_mb: size.memory_mb, disk_mb: size.disk_mb })
      .where("id", "=", node.id)
      .execute();
  }
}

/** The same for nodes of different sizes. */
export async function setSizes(tx: Tx, sized: readonly { node: Placed; size: Size }[]): Promise<void> {
  if (sized.length === 0) return;
  await lockHosts(tx, [...new Set(sized.map(({ node }) => node.host_id))]);
  for (const { node, size } of sized) await setSize(tx, [node], size);
}

async function growthsOf(tx: Tx, nodes: readonly Placed[], size: Size) {
  const locked = await lockNodes(
    tx,
    nodes.map(({ id }) => id),
  );
  return locked.map((node) => ({
    node,
    memory_mb: size.memory_mb - node.memory_mb,
    disk_mb: size.disk_mb - node.disk_mb,
  }));
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** Size of the volumes of removed nodes that are still on the host's disk. */
async function trashOf(tx: Tx, hostId: number): Promise<number> {
  const lease = await tx.selectFrom("host_leases").select("trash_mb").where("host_id", "=", hostId).executeTakeFirst();
  return lease?.trash_mb ?? 0;
}
