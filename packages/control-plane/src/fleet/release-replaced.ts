import type { Tx } from "#platform/db/database.ts";
import { lockHosts, reserve } from "./host-store.ts";

/** Frees the reservation of a replaced node whose host is dead. Repeatable: a node is released once. */
export async function releaseReplaced(tx: Tx, id: string, now: Date): Promise<void> {
  const node = await tx.selectFrom("nodes").select("host_id").where("id", "=", id).executeTakeFirstOrThrow();
  const [host] = await lockHosts(tx, [node.host_id]);
  if (host?.state !== "dead") return;
  const released = await tx
    .updateTable("nodes")
    .set({ released_at: now })
    .where("id", "=", id)
    .where("tombstoned", "=", true)
    .where("released_at", "is", null)
    .returning(["memory_mb", "disk_mb"])
    .executeTakeFirst();
  if (released !== undefined) await reserve(tx, host.id, -released.memory_mb, -released.disk_mb);
}
