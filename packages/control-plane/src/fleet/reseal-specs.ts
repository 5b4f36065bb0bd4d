import { sql } from "kysely";
import type { Db } from "#platform/db/database.ts";
import type { KeyUse } from "#platform/db/rewrap.ts";
import { lockHosts, raiseRevision } from "./host-store.ts";
import { hasReportedDesired, lockNodes } from "./node-store.ts";

/**
 * The nodes whose spec on the host's disk may be compared in a recovery. A tombstone, and a node of a host that is dead
 * or quarantined, is not waited for.
 */
const sealedNodes = (db: Db) =>
  db
    .selectFrom("nodes")
    .innerJoin("hosts", "hosts.id", "nodes.host_id")
    .where("hosts.state", "in", ["active", "drained"])
    .where("hosts.quarantined_at", "is", null)
    .where("nodes.released_at", "is", null)
    .where("nodes.tombstoned", "=", false)
    .where("nodes.desired_spec", "is not", null);

/** How many specs on the disks of each host are sealed with each key, as the hosts reported. */
export async function countSealedSpecs(db: Db): Promise<KeyUse[]> {
  const rows = await sealedNodes(db)
    .select(({ fn }) => ["hosts.name", "nodes.observed_key as key", fn.countAll<number>().as("count")])
    .groupBy(["hosts.name", "nodes.observed_key"])
    .orderBy("hosts.name")
    .execute();
  return rows.map(({ name, ...row }) => ({ by: `host ${name}`, ...row }));
}

/**
 * Sends specs again that were sealed with another key, as a new generation with the same content: the hosts have nothing
 * to change. Waits for the report of one before it sends another. One transaction for each host.
 */
export async function resealSpecs(db: Db, currentKey: string, isOver: () => boolean): Promise<number> {
  const hosts = await sealedNodes(db)
    .select("hosts.id")
    .distinct()
    .where("nodes.observed_key", "!=", currentKey)
    .where(sql<boolean>`hosts.proven_fingerprint = (select current_fingerprint())`)
    .orderBy("hosts.id")
    .execute();
  let sent = 0;
  for (const { id } of hosts) {
    if (isOver() && sent > 0) break;
    sent += await resealHost(db, currentKey, id);
  }
  return sent;
}

const resealHost = (db: Db, currentKey: string, hostId: number): Promise<number> =>
  db.transaction().execute(async (tx) => {
    await lockHosts(tx, [hostId]);
    const found = await sealedNodes(tx)
      .select("nodes.id")
      .where("nodes.host_id", "=", hostId)
      .where("nodes.observed_key", "!=", currentKey)
      .execute();
    const nodes =
      found.length === 0
        ? []
        : await lockNodes(
            tx,
            found.map(({ id }) => id),
          );
    const due = nodes.filter((node) => hasReportedDesired(node) && node.observed_key !== currentKey);
    if (due.length === 0) return 0;
    const revision = await raiseRevision(tx, hostId);
    for (const node of due) {
      if (node.desired_spec === null || node.tombstoned) continue;
      const generation = node.desired_generation + 1;
      await tx
        .updateTable("nodes")
        .set({
          desired_spec: JSON.stringify({ ...node.desired_spec, generation }),
          desired_generation: generation,
          desired_revision: revision,
        })
        .where("id", "=", node.id)
        .execute();
    }
    return due.length;
  });
