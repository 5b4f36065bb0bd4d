/** A database of one node whose host is dead is restored on another host, under the same hostname and port. */
import {
  allocateElsewhere,
  findNodes,
  findPhases,
  type HostsToWake,
  markReplaced,
  type NodeRow,
  setDesiredSpecs,
  unmarkReplaced,
} from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { ChangeContext, Taken } from "../changes/change.ts";
import type { DatabaseRow } from "../model/database-store.ts";
import { isCluster } from "../model/database.ts";
import type { ArchiveContext } from "../model/timeline-store.ts";
import { specsOf, tombstonesOf } from "../spec/desired-specs.ts";
import type { Elsewhere } from "./restore-input.ts";
import { RESTORED } from "./restore-phases.ts";

type Placed = "requested elsewhere" | "no room";

/** Undefined: the database has a host, or is a cluster, whose other members have its data. */
export async function whyElsewhere(
  tx: Tx,
  database: DatabaseRow,
  nodes: readonly NodeRow[],
): Promise<Omit<Elsewhere, "automatic"> | undefined> {
  // Without a port it was never on a host.
  if (isCluster(database) || database.port === null) return undefined;
  const [node] = nodes;
  if (node === undefined) return { node: null, seen_at: null };
  const host = await tx
    .selectFrom("hosts")
    .leftJoin("host_leases", "host_leases.host_id", "hosts.id")
    .select(["hosts.state", "host_leases.seen_at"])
    .where("hosts.id", "=", node.host_id)
    .executeTakeFirstOrThrow();
  return host.state === "dead" ? { node: node.id, seen_at: host.seen_at?.toISOString() ?? null } : undefined;
}

/**
 * Places a new node, which restores the data, and gives the one on the dead host its tombstone. Repeatable: the phase is
 * written once.
 */
export async function placeElsewhere(
  tx: Tx,
  context: ChangeContext,
  archiveContext: ArchiveContext,
  now: Date,
): Promise<Taken<Placed>> {
  const { operation, database, plan } = context;
  if ((await findPhases(tx, operation.id)).some(({ phase }) => phase === RESTORED))
    return { answer: "requested elsewhere" };
  const [old] = await findNodes(tx, database.account_id, database.id);
  if (old !== undefined) await markReplaced(tx, old.id, now);
  const fresh = await allocateElsewhere(
    tx,
    {
      accountId: database.account_id,
      databaseId: database.id,
      region: database.region,
      ordinal: 0,
      port: database.port as number,
      memory_mb: plan.memory_mb,
      disk_mb: plan.disk_mb,
    },
    now,
  );
  if (fresh === undefined) {
    if (old !== undefined) await unmarkReplaced(tx, old.id);
    return { answer: "no room" };
  }
  // A suspended database runs while its data are restored; the end of the operation stops it.
  const running = { ...context, archiveContext, database: { ...database, powered: true } };
  const { hosts } = await setDesiredSpecs(tx, operation.id, RESTORED, await specsOf(tx, [fresh], running), {
    upTo: 100,
  });
  if (old !== undefined) await setTombstone(tx, context, old);
  return { answer: "requested elsewhere", hosts };
}

/** The restore failed: the next attempt may choose another host, and does not wait for what is left on this one. */
export async function removeElsewhere(tx: Tx, context: ChangeContext, now: Date): Promise<HostsToWake> {
  const hosts: number[] = [];
  const placed = (await findPhases(tx, context.operation.id)).filter(({ phase }) => phase === RESTORED);
  const made = placed.flatMap(({ nodes }) => nodes.map(({ node }) => node));
  for (const node of await findNodes(tx, context.database.account_id, context.database.id)) {
    if (!made.includes(node.id)) continue;
    await markReplaced(tx, node.id, now);
    hosts.push(...(await setTombstone(tx, context, node)).hosts);
  }
  return { hosts };
}

/** Its room is reserved until its host confirms the removal, or is dead. */
async function setTombstone(tx: Tx, context: ChangeContext, node: NodeRow): Promise<HostsToWake> {
  return setDesiredSpecs(tx, context.operation.id, `tombstone ${node.id}`, await tombstonesOf(tx, [node], context));
}
