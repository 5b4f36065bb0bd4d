import { formatGtidSet, type NodeSpec } from "@moorage/contract/agent";
import { findNodes } from "#fleet/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { restorableGtids } from "../../archive/archive-end.ts";
import type { DatabaseRow } from "../../model/database-store.ts";
import { isAsynchronous } from "../../model/database.ts";
import { findPrimary, termSince } from "../../spec/primary-store.ts";
import type { ObservedCluster } from "./cluster-health.ts";
import type { ObservedPrimary } from "./primary-health.ts";
import { isReachable, type ObservedMember } from "../member-condition.ts";

/** `since`: when the control plane came up. An outage of ours does not count as silence of the hosts. */
type Moment = { now: Date; since?: Date };

/** The workflows that repair a cluster, and their actions. */
const repairs = { replaceNode: "replace", bootstrapGroup: "bootstrap" } as const;

/** Everything that the health of a cluster is judged by. */
export async function observeCluster(tx: Tx, database: DatabaseRow, moment: Moment): Promise<ObservedCluster> {
  const { label, status, powered } = database;
  const members = await observeMembers(tx, database, moment);
  const asynch = isAsynchronous(database) ? { asynch: await observePrimary(tx, database, members, moment.now) } : {};
  return { label, status, powered, members, ...asynch, ...(await repairsOf(tx, database, moment.now)) };
}

/**
 * The primary of an asynchronous cluster, and the archived transactions that a successor must have. They are only read
 * if the primary is unhealthy, because from then on nothing is added to them.
 */
export async function observePrimary(
  tx: Tx,
  database: DatabaseRow,
  members: readonly ObservedMember[],
  now: Date,
): Promise<ObservedPrimary> {
  const primary = await findPrimary(tx, database);
  const since = await termSince(tx, database, primary?.term);
  const termSeconds = since === undefined ? 0 : (now.getTime() - since.getTime()) / 1000;
  const own = members.find(({ node }) => node === primary?.node);
  const isWell = own !== undefined && isReachable(own.host) && own.report?.state === "online";
  if (isWell || database.timeline_id === null) return { primary, archived: "", termSeconds };
  const archived = formatGtidSet(await restorableGtids(tx, database.timeline_id));
  return { primary, archived, termSeconds };
}

/** The current members; replaced ones do not count. */
export async function observeMembers(
  db: Db | Tx,
  database: DatabaseRow,
  { now, since }: Moment,
): Promise<ObservedMember[]> {
  const nodes = await findNodes(db, database.account_id, database.id);
  if (nodes.length === 0) return [];
  const ids = nodes.map(({ id }) => id);
  const rows = await db
    .selectFrom("nodes")
    .innerJoin("hosts", "hosts.id", "nodes.host_id")
    .leftJoin("host_leases", "host_leases.host_id", "nodes.host_id")
    .leftJoin("members", "members.node_id", "nodes.id")
    .select(["nodes.id", "hosts.name", "hosts.state", "seen_at", "report", "unhealthy_since"])
    .where("nodes.id", "in", ids)
    .execute();
  const secondsSince = (at: Date): number => Math.max(0, (now.getTime() - at.getTime()) / 1000);
  return nodes.map(({ id, ordinal, observed_state, observed_message, desired_spec }): ObservedMember => {
    const of = rows.find((row) => row.id === id);
    const lastSeenAt = Math.max(of?.seen_at?.getTime() ?? 0, since?.getTime() ?? 0);
    return {
      node: id,
      ordinal,
      state: observed_state,
      message: observed_message,
      report: of?.report ?? null,
      host: {
        name: of?.name ?? "",
        dead: of?.state === "dead",
        silentSeconds: secondsSince(new Date(lastSeenAt)),
        unseenSeconds: secondsSince(of?.seen_at ?? new Date(0)),
      },
      unhealthySeconds: secondsSince(of?.unhealthy_since ?? now),
      recloning: desired_spec?.cluster?.reclone !== undefined || isOnOther(desired_spec?.data, database),
    };
  });
}

/** The data of a restore, on which the database does not live yet. */
const isOnOther = (data: NodeSpec["data"], { timeline_id }: DatabaseRow): boolean =>
  data !== undefined && data.timeline !== timeline_id;

async function repairsOf(
  tx: Tx,
  { account_id, id }: DatabaseRow,
  now: Date,
): Promise<Pick<ObservedCluster, "busy" | "failedSeconds">> {
  const kinds = Object.keys(repairs) as (keyof typeof repairs)[];
  const last = await tx
    .selectFrom("operations")
    .distinctOn("kind")
    .select(["kind", "settled_at", "outcome"])
    .where("account_id", "=", account_id)
    .where("entity_id", "=", id)
    .where("kind", "in", kinds)
    .orderBy("kind")
    .orderBy("id", "desc")
    .execute();
  const failedSeconds: NonNullable<ObservedCluster["failedSeconds"]> = {};
  for (const { kind, settled_at, outcome } of last)
    if (settled_at !== null && outcome === "failed")
      failedSeconds[repairs[kind as keyof typeof repairs]] = (now.getTime() - settled_at.getTime()) / 1000;
  return { busy: last.some(({ settled_at }) => settled_at === null), failedSeconds };
}
