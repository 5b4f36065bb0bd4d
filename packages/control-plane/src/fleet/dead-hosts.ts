import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { lockHosts, reserve } from "./host-store.ts";
import { SILENT_AFTER_MS } from "./placement.ts";
import { texts } from "./texts.ts";

/**
 * An operator declares that a host never returns. Its certificate is revoked, and its nodes are replaced where other
 * members have their data. Refused for a host that still polls, because its nodes may still serve. Repeatable.
 */
export async function declareDead(
  tx: Tx,
  name: string,
  now: Date,
): Promise<{ id: number; name: string; nodes: number }> {
  const host = await tx
    .selectFrom("hosts")
    .leftJoin("host_leases", "host_leases.host_id", "hosts.id")
    .select(["hosts.id", "hosts.state", "host_leases.seen_at"])
    .where("hosts.name", "=", name)
    .forUpdate("hosts")
    .executeTakeFirst();
  if (host === undefined) throw new DomainError("not-found", { reason: texts.unknownName({ name }) });
  const silentMs = host.seen_at === null ? Infinity : now.getTime() - host.seen_at.getTime();
  if (host.state !== "dead" && silentMs < SILENT_AFTER_MS)
    throw new DomainError("wrong-state", {
      reason: texts.stillPolls({ name, seconds: Math.round(silentMs / 1000) }),
    });
  await tx.updateTable("hosts").set({ state: "dead" }).where("id", "=", host.id).execute();
  const { nodes } = await tx
    .selectFrom("nodes")
    .select(({ fn }) => fn.countAll<number>().as("nodes"))
    .where("host_id", "=", host.id)
    .where("released_at", "is", null)
    .executeTakeFirstOrThrow();
  return { id: host.id, name, nodes };
}

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
