import { findNodes } from "#fleet/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../database-store.ts";
import type { ClusterSeen, MemberSeen } from "./cluster-health.ts";

/** `since`: from when on we could have heard hosts. An outage of our own is no silence of theirs. */
type Moment = { now: Date; since?: Date };

/** The workflows that mend a cluster, and what each of them does. */
export const mending = { replaceNode: "replace", formGroup: "form" } as const;

/** Everything that the health of a cluster is judged by. */
export async function seeCluster(tx: Tx, database: DatabaseRow, moment: Moment): Promise<ClusterSeen> {
  const { label, status, powered } = database;
  const members = await seeMembers(tx, database, moment);
  return { label, status, powered, members, ...(await mendingOf(tx, database, moment.now)) };
}

/** Those that count: one whose place another took does not. */
export async function seeMembers(db: Db | Tx, database: DatabaseRow, { now, since }: Moment): Promise<MemberSeen[]> {
  const nodes = await findNodes(db, database.account_id, database.id);
  if (nodes.length === 0) return [];
  const ids = nodes.map(({ id }) => id);
  const told = await db
    .selectFrom("nodes")
    .innerJoin("hosts", "hosts.id", "nodes.host_id")
    .leftJoin("host_leases", "host_leases.host_id", "nodes.host_id")
    .leftJoin("members", "members.node_id", "nodes.id")
    .select(["nodes.id", "hosts.name", "hosts.state", "seen_at", "report", "unhealthy_since"])
    .where("nodes.id", "in", ids)
    .execute();
  const secondsSince = (at: Date): number => Math.max(0, (now.getTime() - at.getTime()) / 1000);
  return nodes.map(({ id, ordinal, observed_state, observed_message }): MemberSeen => {
    const of = told.find((row) => row.id === id);
    const heardAt = Math.max(of?.seen_at?.getTime() ?? 0, since?.getTime() ?? 0);
    return {
      ...{ node: id, ordinal, state: observed_state, message: observed_message, report: of?.report ?? null },
      host: { name: of?.name ?? "", dead: of?.state === "dead", silentSeconds: secondsSince(new Date(heardAt)) },
      unhealthySeconds: secondsSince(of?.unhealthy_since ?? now),
    };
  });
}

async function mendingOf(
  tx: Tx,
  { account_id, id }: DatabaseRow,
  now: Date,
): Promise<Pick<ClusterSeen, "busy" | "failedSeconds">> {
  const kinds = Object.keys(mending) as (keyof typeof mending)[];
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
  const failedSeconds: NonNullable<ClusterSeen["failedSeconds"]> = {};
  for (const { kind, settled_at, outcome } of last)
    if (settled_at !== null && outcome === "failed")
      failedSeconds[mending[kind as keyof typeof mending]] = (now.getTime() - settled_at.getTime()) / 1000;
  return { busy: last.some(({ settled_at }) => settled_at === null), failedSeconds };
}
