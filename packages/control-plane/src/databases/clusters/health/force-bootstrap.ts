import type { Text } from "@moorage/contract/texts";
import { emit } from "#events/index.ts";
import { raise } from "#notifications/index.ts";
import { requireCurrent } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { continueWith, markLossReported, unreportedLosses } from "../../archive/archive-end.ts";
import { type DatabaseRow, lockDatabase } from "../../model/database-store.ts";
import { isCluster } from "../../model/database.ts";
import { entityOf } from "../../model/entity.ts";
import { isReachable, type ObservedMember } from "../member-condition.ts";
import { texts } from "../texts.ts";
import { chooseSuccessor } from "./choose-successor.ts";
import { isAtHand, type ObservedCluster } from "./cluster-health.ts";
import { observeCluster } from "./observe-cluster.ts";
import { openBootstrap } from "./open-repair.ts";
import { promoteTo } from "./promote-successors.ts";
import { texts as healthTexts } from "./texts.ts";

/** The cause of the notification that an operator continued with one node; the tenant is told until all are healthy. */
export const SOLE_PRIMARY_CAUSE = "sole_primary";

type BootstrapRequest = { at: Date; deadlineSeconds: number; acceptsLoss: boolean };
/** `primary`: the new primary of an asynchronous cluster; `left_out`: how many archived transactions it lacks. */
type Bootstrapped = { label: string; waits_for: string[]; primary?: number; left_out?: number };

const refused = (reason: Text): DomainError => new DomainError("wrong-state", { reason });

/**
 * An operator bootstraps a group that no member may bootstrap by itself. Transactions that only a dead host had are
 * lost, so the loss must be accepted. A host that is only unreachable may still have a primary, so it must be declared
 * dead first.
 */
export async function forceBootstrap(
  tx: Tx,
  id: number,
  { at, deadlineSeconds, acceptsLoss }: BootstrapRequest,
): Promise<Bootstrapped> {
  const owner = await tx.selectFrom("databases").select("account_id").where("id", "=", id).executeTakeFirst();
  if (owner === undefined) throw new DomainError("not-found", { reason: texts.databaseUnknown({ id }) });
  const database = await lockDatabase(tx, owner.account_id, id);
  if (database.deleted_at !== null || !isCluster(database) || !database.powered)
    throw refused(texts.bootstrapNoCluster());
  await requireCurrent(tx, id);
  const cluster = await observeCluster(tx, database, { now: at });
  const { members, busy, status } = cluster;
  if (busy) throw refused(texts.bootstrapRepairOpen());
  if (!isAtHand(status)) throw refused(texts.bootstrapWrongStatus({ status }));
  const inGroup = members.find(({ report, host }) => isReachable(host) && report?.state === "online" && report.shared);
  if (inGroup !== undefined) throw refused(texts.bootstrapGroupExists());
  requireLossAccepted(members, acceptsLoss);
  if (cluster.asynch !== undefined) return makeSolePrimary(tx, database, cluster, { at, acceptsLoss });
  await openBootstrap(tx, database, acceptsLoss ? { accept_loss: true } : {}, { at, deadlineSeconds });
  const waitsFor = members.filter(({ host }) => !acceptsLoss || !host.dead).map(({ host }) => host.name);
  return { label: database.label, waits_for: waitsFor };
}

function requireLossAccepted(members: readonly ObservedMember[], acceptsLoss: boolean): void {
  const missing = members.filter(({ host }) => !isReachable(host));
  const hosts = missing.map(({ host }) => host.name);
  if (missing.length > 0 && !acceptsLoss) throw refused(texts.bootstrapLossNotAccepted({ hosts }));
  const silent = missing.filter(({ host }) => !host.dead).map(({ host }) => host.name);
  if (silent.length > 0) throw refused(texts.bootstrapHostsNotDead({ hosts: silent }));
}

/**
 * Makes the current primary, if it is there, else the member with the most transactions, primary without another
 * member's confirmation.
 */
async function makeSolePrimary(
  tx: Tx,
  database: DatabaseRow,
  { members, asynch }: ObservedCluster,
  { at, acceptsLoss }: Pick<BootstrapRequest, "at" | "acceptsLoss">,
): Promise<Bootstrapped> {
  if (!acceptsLoss) throw refused(texts.bootstrapNoElection());
  const current = members.find(
    ({ node, host, state }) => node === asynch?.primary?.node && isReachable(host) && state !== "failed",
  );
  const next = current ?? chooseSuccessor(members, asynch?.primary?.node ?? "", "");
  if (typeof next === "string") throw refused(texts.bootstrapNoReport());
  const gtid = members.find(({ node }) => node === next.node)?.report?.gtid;
  // A current primary has everything; it reports its term and no GTID set.
  const { leftOut } =
    current !== undefined || gtid === undefined || database.timeline_id === null
      ? { leftOut: 0 }
      : await continueWith(tx, database.timeline_id, gtid, { acceptsLoss, at });
  await promoteTo(tx, database, { node: next.node, reason: "sole_survivor" }, { actor: "operator", at });
  await notifyOfSolePrimary(tx, database, next.ordinal, at);
  return { label: database.label, waits_for: [], primary: next.ordinal, left_out: leftOut };
}

/** No operation reports it: the promotion is done with its transaction. */
async function notifyOfSolePrimary(tx: Tx, database: DatabaseRow, ordinal: number, at: Date): Promise<void> {
  const { account_id: accountId, label, timeline_id } = database;
  const losses = timeline_id === null ? [] : await unreportedLosses(tx, timeline_id);
  if (timeline_id !== null) await markLossReported(tx, timeline_id, at);
  const message = healthTexts.continuedAlone({ label, ordinal, losses });
  const about = { accountId, entity: entityOf(database), cause: SOLE_PRIMARY_CAUSE };
  const notice = {
    type: "notice",
    severity: "critical",
    label: healthTexts.continuedAloneTitle(),
    body: null,
  } as const;
  await raise(tx, about, { ...notice, message }, at);
  await emit(tx, {
    accountId,
    username: null,
    action: "database_group_form",
    status: "notification",
    entity: about.entity,
    message,
    at,
  });
}
