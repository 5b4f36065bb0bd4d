import { requireCurrent } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { type DatabaseRow, lockDatabase } from "../../database-store.ts";
import { goOnWith } from "../../archive/part-archive.ts";
import { isCluster } from "../cluster-spec.ts";
import { chooseSuccessor } from "./choose-successor.ts";
import { type ClusterSeen, isAtHand } from "./cluster-health.ts";
import { isHeard, type MemberSeen } from "./member-condition.ts";
import { openForming } from "./open-mending.ts";
import { promoteTo } from "./promotion.ts";
import { mending, seeCluster } from "./see-cluster.ts";

type Asked = { at: Date; deadlineSeconds: number; acceptsLoss: boolean };
/** `leads`: the node that does, where none is elected, and `left_out` what it lacks of the archive. */
type Begun = { label: string; waits_for: string[]; leads?: number; left_out?: number };

const refused = (reason: string): DomainError => new DomainError("wrong-state", { reason });

/**
 * The operator has a group begun that nobody begins by itself. What only a dead host had is lost with it, so that the
 * loss must be accepted; a host that is only silent may still lead a group, so that it must be called dead first.
 */
export async function beginGroup(tx: Tx, id: number, { at, deadlineSeconds, acceptsLoss }: Asked): Promise<Begun> {
  const owner = await tx.selectFrom("databases").select("account_id").where("id", "=", id).executeTakeFirst();
  if (owner === undefined) throw new DomainError("not-found", { reason: `No database has the id ${id}.` });
  const database = await lockDatabase(tx, owner.account_id, id);
  if (database.deleted_at !== null || !isCluster(database) || !database.powered)
    throw refused("Only a database of three nodes that runs has a group to begin.");
  await requireCurrent(tx);
  const cluster = await seeCluster(tx, database, { now: at });
  const { members, busy, status } = cluster;
  if (busy)
    throw refused(`It is being mended already (${Object.keys(mending).join(" or ")}). See it with: moorage db list`);
  if (!isAtHand(status)) throw refused(`It is ${status}: wait until that has ended.`);
  const inGroup = members.find(({ report, host }) => isHeard(host) && report?.state === "online" && report.shared);
  if (inGroup !== undefined) throw refused("Two of its nodes are together: it has a group.");
  requireWord(members, acceptsLoss);
  if (cluster.asynch !== undefined) return leadAlone(tx, database, cluster, { at, acceptsLoss });
  await openForming(tx, database, acceptsLoss ? { accept_loss: true } : {}, { at, deadlineSeconds });
  const waitsFor = members.filter(({ host }) => !acceptsLoss || !host.dead).map(({ host }) => host.name);
  return { label: database.label, waits_for: waitsFor };
}

function requireWord(members: readonly MemberSeen[], acceptsLoss: boolean): void {
  const missing = members.filter(({ host }) => !isHeard(host));
  const names = missing.map(({ host }) => host.name);
  if (missing.length > 0 && !acceptsLoss)
    throw refused(
      `${names.join(" and ")} cannot say what they have. Bring them back, or add --accept-loss: what only they had is lost then.`,
    );
  const silent = missing.filter(({ host }) => !host.dead).map(({ host }) => host.name);
  if (silent.length > 0)
    throw refused(
      `${silent.join(" and ")} may still run a group of their own. If they are gone for good, say so first: ${silent.map((name) => `moorage host dead ${name}`).join("; ")}`,
    );
}

/** The one that led, if it is there, and else the one that has the most, leads without anybody who knows of it. */
async function leadAlone(
  tx: Tx,
  database: DatabaseRow,
  { members, asynch }: ClusterSeen,
  { at, acceptsLoss }: Pick<Asked, "at" | "acceptsLoss">,
): Promise<Begun> {
  if (!acceptsLoss)
    throw refused("Its nodes elect nobody. Add --accept-loss to have the one that has the most lead alone.");
  const led = members.find(
    ({ node, host, state }) => node === asynch?.leader?.node && isHeard(host) && state !== "failed",
  );
  const next = led ?? chooseSuccessor(members, asynch?.leader?.node ?? "", "");
  if (typeof next === "string") throw refused("None of its nodes has said yet what it has. Try again in a moment.");
  const gtid = members.find(({ node }) => node === next.node)?.report?.gtid;
  // Who led all the time has everything, and says only in which term.
  const { leftOut } =
    led !== undefined || gtid === undefined || database.timeline_id === null
      ? { leftOut: 0 }
      : await goOnWith(tx, database.timeline_id, gtid, { acceptsLoss, at });
  await promoteTo(tx, database, { node: next.node, over: "alone" }, { actor: "operator", at });
  return { label: database.label, waits_for: [], leads: next.ordinal, left_out: leftOut };
}
