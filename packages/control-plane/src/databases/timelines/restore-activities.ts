import { randomUUID } from "node:crypto";
import { toTimestamp } from "@moorage/contract";
import type { PrimaryTerm } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import {
  clearDesiredSpec,
  findNodes,
  findPhases,
  type HostsToWake,
  type NodeRow,
  type Progress,
  progressOf,
  setDesiredSpecs,
  type Share,
} from "#fleet/index.ts";
import { noteInOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { resolve } from "#notifications/index.ts";
import type { DesiredNode } from "#platform/db/tables.ts";
import {
  type Change,
  type ChangeContext,
  type Engine,
  inOperation,
  requested,
  type Settlement,
  type Taken,
} from "../changes/change.ts";
import { chooseSuccessor } from "../clusters/health/choose-successor.ts";
import { observeMembers, observePrimary } from "../clusters/health/observe-cluster.ts";
import { isReachable } from "../clusters/member-condition.ts";
import { type DatabaseRow, saveDatabase } from "../model/database-store.ts";
import { isCluster, statusAfter, statusByPower } from "../model/database.ts";
import { entityOf } from "../model/entity.ts";
import { meterDatabase } from "../model/usage.ts";
import {
  type ArchiveContext,
  endTimeline,
  findTimeline,
  insertTimeline,
  liveOn,
  sameBeginning,
} from "../model/timeline-store.ts";
import { assignArchiver } from "../spec/archiver-store.ts";
import { firstOrders } from "../spec/cluster-spec.ts";
import { setDesiredFromRow, type SpecContext, specsOf } from "../spec/desired-specs.ts";
import { findPrimary, primaryFirst, setPrimary } from "../spec/primary-store.ts";
import { nextMaker } from "./next-maker.ts";
import { placeElsewhere, removeElsewhere, RESTORED } from "./restore-elsewhere.ts";
import { restoreInput } from "./restore-input.ts";
import { texts } from "./texts.ts";

const RECLONED = "recloned";
const PREVIOUS = "previous timeline";

/** The steps of a restore in place. Each is repeatable: it may have run before. */
export const createRestoreActivities = (engine: Engine) => {
  const { clock } = engine;
  // An outage of ours does not count as silence of the hosts.
  const since = clock();
  const whileOpen = (
    operationId: number,
    write: (tx: Tx, context: ChangeContext) => Promise<HostsToWake | undefined>,
  ): Promise<"requested" | "not requested"> =>
    inOperation(engine, operationId, async (tx, context) =>
      requested(context.isOpen ? await write(tx, context) : undefined),
    );

  return {
    /**
     * Requests the data of the new timeline, with a way back to the previous one. A database of one node whose host is
     * dead gets another node for them: "no room" if no host can take it.
     */
    setRestoredTimeline: (
      operationId: number,
    ): Promise<"requested" | "requested elsewhere" | "not requested" | "no room"> =>
      inOperation<"requested" | "requested elsewhere" | "not requested" | "no room">(
        engine,
        operationId,
        async (tx, context) => {
          if (!context.isOpen) return { answer: "not requested" };
          const archiveContext = await archiveContextWithRollback(tx, context);
          return restoreInput(context.operation).elsewhere === undefined
            ? requested(await restoreInPlace(tx, context, archiveContext, clock()))
            : placeElsewhere(tx, context, archiveContext, clock());
        },
      ),

    /**
     * The other members of a cluster leave the previous timeline and clone their data from the one that restored them.
     */
    recloneMembers: (operationId: number) =>
      whileOpen(operationId, async (tx, context) =>
        isCluster(context.database) ? reclone(tx, context, clock()) : undefined,
      ),

    /** Whether the data are restored. If the host that restores them is lost, another one does it. */
    checkRestored: (operationId: number): Promise<Progress> =>
      inOperation(engine, operationId, (tx, context) => restoredOrMoved(tx, context, { now: clock(), since })),

    /**
     * A host that goes away after the request is not waited for: it is treated like one that was away before. If it is
     * the only one with the data, they are restored again, and the others clone from there.
     */
    checkRecloned: (operationId: number): Promise<Progress> =>
      inOperation(engine, operationId, async (tx, context): Promise<Taken<Progress>> => {
        const moment = { now: clock(), since };
        const recloned = await nodesOfPhase(tx, context, RECLONED);
        if (recloned === undefined) {
          const restored = await restoredOrMoved(tx, context, moment);
          if (restored.answer.state !== "observed") return restored;
          return { answer: { state: "pending" }, ...(await reclone(tx, context, moment.now)) };
        }
        const progress = progressOf(await nodesOf(tx, context), recloned);
        if (progress.state !== "pending") return { answer: progress };
        if (await isReclonedButForOne(tx, context, moment.now)) return { answer: { state: "observed" } };
        return (await move(tx, context, moment)) ?? { answer: progress };
      }),

    setPreviousTimeline: (operationId: number) => whileOpen(operationId, (tx, context) => goBack(tx, context, clock())),
  };
};
export type RestoreActivities = ReturnType<typeof createRestoreActivities>;

export const restore: Change = {
  kind: "restoreDatabase",
  audited: "restore_database",
  events: ["database_backup_restore"],
  /** Succeeds only if most of the requested hosts report the new timeline: one of three may have been away. */
  async judge(tx, context, proposed) {
    const { timeline } = restoreInput(context.operation);
    const requestedNodes =
      (await nodesOfPhase(tx, context, RECLONED)) ?? (await nodesOfPhase(tx, context, RESTORED)) ?? [];
    const on = (await nodesOf(tx, context)).filter(({ observed_timeline }) => observed_timeline === timeline);
    const confirmed = requestedNodes.filter(({ node }) => on.some(({ id }) => id === node));
    const done = proposed.done && 2 * confirmed.length > requestedNodes.length;
    const message = done ? await textOfSuccess(tx, context) : textOfFailure(context, proposed);
    return { ...proposed, done, message };
  },
  /** On failure the previous timeline is requested again: its data are kept until this is settled. */
  async end(tx, context, { done, dnsPublished = false }, at) {
    const { timeline, before, elsewhere } = restoreInput(context.operation);
    const { account_id, id, status, powered } = context.database;
    const settled = await saveDatabase(tx, account_id, id, {
      status: statusByPower(statusAfter("restore", status, { done, before }), powered),
      ...(done ? { timeline_id: timeline } : {}),
      // Its records name the dead host until they are published again, by a job if not by the workflow.
      ...(done && elsewhere !== undefined ? { dns_published_at: dnsPublished ? at : null } : {}),
      updated_at: at,
    });
    const next = await (done ? stay(tx, context, at) : leave(tx, context, at));
    if (done && elsewhere !== undefined)
      await resolve(tx, { accountId: account_id, entity: entityOf(settled), cause: HOST_CAUSE });
    // The database may run for the first time, if it could not be provisioned before.
    if (done) await meterDatabase(tx, settled, at);
    return next;
  },
};

/** The cause of the notification that the host of a database of one node is away or lost. */
export const HOST_CAUSE = "host";

/**
 * In a cluster one member restores the data: the primary of an asynchronous cluster, unless it is dead. The others stay
 * on the previous timeline until it is done.
 */
async function restoreInPlace(
  tx: Tx,
  context: ChangeContext,
  archiveContext: ArchiveContext,
  now: Date,
): Promise<HostsToWake | undefined> {
  if (!isCluster(context.database))
    return setDesiredTimeline(tx, RESTORED, { ...context, archiveContext }, await nodesOf(tx, context), { upTo: 100 });
  return restoreOnFirst(tx, { ...context, archiveContext }, await membersInOrder(tx, context, now), now);
}

async function restoreOnFirst(
  tx: Tx,
  context: ChangeContext & { archiveContext: ArchiveContext },
  [maker, ...others]: readonly NodeRow[],
  now: Date,
): Promise<HostsToWake | undefined> {
  if (maker === undefined) return undefined;
  const { timeline } = context.archiveContext;
  // No other member needs to confirm the new primary: none of the previous timeline takes part in the new one.
  const next = { node: maker.id, reason: "sole_survivor" } as const;
  const primary = await makePrimary(tx, context.database, next, now, { alone: others.length === 0 });
  const orders = firstOrders([maker, ...others], timeline, primary);
  await assignArchiver(tx, timeline, maker.id);
  return setDesiredTimeline(tx, phaseOf(context, RESTORED), { ...context, orders }, [maker], { upTo: 60 });
}

async function reclone(tx: Tx, context: ChangeContext, now: Date): Promise<HostsToWake> {
  const archiveContext = await archiveContextWithRollback(tx, context);
  const nodes = await membersInOrder(tx, context, now);
  const primary = await findPrimary(tx, context.database);
  // The permission to bootstrap was used, or is not needed any more.
  const { [nodes[0]?.id ?? ""]: _bootstrap, ...orders } = firstOrders(nodes, archiveContext.timeline, primary);
  const phase = phaseOf(context, RECLONED);
  return setDesiredTimeline(tx, phase, { ...context, archiveContext, orders }, nodes, { upTo: 100 });
}

async function restoredOrMoved(tx: Tx, context: ChangeContext, moment: Moment): Promise<Taken<Progress>> {
  const moved = await move(tx, context, moment);
  if (moved !== undefined) return moved;
  return { answer: progressOf(await nodesOf(tx, context), (await nodesOfPhase(tx, context, RESTORED)) ?? []) };
}

type Moment = { now: Date; since: Date };

/** Undefined: the restore stays where it is. */
async function move(tx: Tx, context: ChangeContext, moment: Moment): Promise<Taken<Progress> | undefined> {
  const { database, isOpen, operation } = context;
  const [maker] = (await nodesOfPhase(tx, context, RESTORED)) ?? [];
  if (!isOpen || !isCluster(database) || maker === undefined) return undefined;
  const members = await observeMembers(tx, database, moment);
  const { primary, archived } = await observePrimary(tx, database, members, moment.now);
  const next = nextMaker({
    members,
    maker: maker.node,
    attempt: attemptOf(context),
    primary,
    successor: primary && chooseSuccessor(members, primary.node, archived),
  });
  if (next === "stays") return undefined;
  if (next === "none left") return { answer: { state: "failed", message: texts.hostsLost().text } };
  const { timeline: before, previous, lost } = restoreInput(operation);
  const timeline = randomUUID();
  await insertTimeline(tx, database, {
    id: timeline,
    from: sameBeginning(await findTimeline(tx, before)),
    at: moment.now,
  });
  await endTimeline(tx, before, "unused");
  const changes = {
    timeline,
    attempt: attemptOf(context) + 1,
    // Promoted meanwhile: it has what was written since.
    ...(primary?.node === next.node && { primary: next.node, sole: primary.reason === "sole_survivor" }),
  };
  await noteInOperation(tx, operation.id, changes);
  const moved = { ...context, operation: { ...operation, input: { ...operation.input, ...changes } } };
  const nodes = await membersInOrder(tx, moved, moment.now, next.node);
  const archiveContext = await archiveContextWithRollback(tx, moved);
  const toWake = await restoreOnFirst(tx, { ...moved, archiveContext }, nodes, moment.now);
  // A host that comes back serves the previous data, and makes nothing that nobody waits for.
  const others = (await nodesOf(tx, context)).filter(
    ({ id, desired_spec, tombstoned }) =>
      id !== next.node && !lost && !tombstoned && desired_spec?.data?.timeline === before,
  );
  const back = { ...context, archiveContext: await archiveContextOn(tx, context, previous) };
  const sentBack = await setDesiredTimeline(tx, `${PREVIOUS} ${changes.attempt}`, back, others);
  return { answer: { state: "pending" }, hosts: [...(toWake?.hosts ?? []), ...sentBack.hosts] };
}

/**
 * Gives up the way back: the volume of the previous timeline goes to its host's trash, which nobody waits for. A member
 * whose host was away now gets the new timeline, and clones its data from the others when it is back.
 */
async function stay(tx: Tx, context: ChangeContext, at: Date): Promise<HostsToWake> {
  const { timeline, previous } = restoreInput(context.operation);
  await endTimeline(tx, previous, at);
  await liveOn(tx, timeline, at);
  const archiveContext = await archiveContextOn(tx, context, timeline);
  return setDesiredTimeline(tx, "without a way back", { ...context, archiveContext }, await nodesOf(tx, context));
}

async function leave(tx: Tx, context: ChangeContext, at: Date): Promise<HostsToWake | undefined> {
  await endTimeline(tx, restoreInput(context.operation).timeline, "unused");
  return goBack(tx, context, at);
}

async function goBack(tx: Tx, context: ChangeContext, at: Date): Promise<HostsToWake | undefined> {
  const { operation, database } = context;
  const { lost, primary, sole = false, elsewhere } = restoreInput(operation);
  if (elsewhere !== undefined) return removeElsewhere(tx, context, at);
  // The primary of the new timeline lacks what others may have of the previous one.
  const reason = sole ? "sole_survivor" : "fenced";
  const [maker] = (await nodesOfPhase(tx, context, RESTORED)) ?? [];
  const current = await findPrimary(tx, database);
  // One that was promoted since the restore began has what was written since.
  const isPromoted = maker !== undefined && current !== undefined && current.node !== maker.node;
  if (primary !== undefined && !isPromoted)
    await makePrimary(tx, database, { node: primary, reason }, at, { alone: true });
  // The host has no earlier data: ordered to run them, it would make an empty database.
  if (!lost) return setDesiredFromRow(tx, operation.id, PREVIOUS, context);
  for (const node of await nodesOf(tx, context)) await clearDesiredSpec(tx, node);
  return undefined;
}

/**
 * For an asynchronous cluster; undefined for a group. The present primary gets a new term only if it is `alone` and it
 * changes whether it needs another member's confirmation: without one it would wait for ever, and on the previous
 * timeline it must not open without one.
 */
async function makePrimary(
  tx: Tx,
  database: DatabaseRow,
  next: Omit<PrimaryTerm, "term">,
  at: Date,
  { alone }: { alone: boolean },
): Promise<PrimaryTerm | undefined> {
  const primary = await findPrimary(tx, database);
  if (primary === undefined) return undefined;
  const isSole = (reason: PrimaryTerm["reason"]): boolean => reason === "sole_survivor";
  const stays = primary.node === next.node && (!alone || isSole(primary.reason) === isSole(next.reason));
  return stays ? primary : setPrimary(tx, database, next, at);
}

const setDesiredTimeline = async (
  tx: Tx,
  phase: string,
  context: ChangeContext & Pick<SpecContext, "orders">,
  nodes: readonly NodeRow[],
  share?: Share,
): Promise<HostsToWake> => setDesiredSpecs(tx, context.operation.id, phase, await specsOf(tx, nodes, context), share);

const nodesOf = (tx: Tx, { database }: ChangeContext): Promise<NodeRow[]> =>
  findNodes(tx, database.account_id, database.id);

const attemptOf = ({ operation }: Pick<ChangeContext, "operation">): number => restoreInput(operation).attempt ?? 1;

/** Each member that restores the data has phases of its own. */
const phaseOf = (context: Pick<ChangeContext, "operation">, name: string): string =>
  attemptOf(context) === 1 ? name : `${name} ${attemptOf(context)}`;

/** Undefined: not requested yet. */
async function nodesOfPhase(
  tx: Tx,
  context: Pick<ChangeContext, "operation">,
  name: string,
): Promise<readonly DesiredNode[] | undefined> {
  const phases = await findPhases(tx, context.operation.id);
  return phases.find(({ phase }) => phase === phaseOf(context, name))?.nodes;
}

/** Two have the new data, and the host of the third is away: alone it cannot continue with the previous data. */
async function isReclonedButForOne(tx: Tx, context: ChangeContext, now: Date): Promise<boolean> {
  const members = await observeMembers(tx, context.database, { now });
  const isHere = ({ node }: { node: string }): boolean =>
    members.some((member) => member.node === node && isReachable(member.host));
  const recloned = (await nodesOfPhase(tx, context, RECLONED)) ?? [];
  const here = recloned.filter(isHere);
  return (
    here.length === 2 && recloned.length === 3 && progressOf(await nodesOf(tx, context), here).state === "observed"
  );
}

/** First the member that restores the data, then the others that can clone from it now. */
async function membersInOrder(tx: Tx, context: ChangeContext, now: Date, chosen?: string): Promise<NodeRow[]> {
  const { database } = context;
  const primary = await findPrimary(tx, database);
  const nodes = primaryFirst(await nodesOf(tx, context), primary);
  const members = await observeMembers(tx, database, { now });
  const reachable = members.filter(({ host }) => isReachable(host)).map(({ node }) => node);
  const silent = members.filter(({ node, host }) => !reachable.includes(node) && !host.dead);
  // Two members that may be alive could continue on the previous timeline and serve clients: then all are waited for.
  const here = silent.length > 1 || reachable.length === 0 ? nodes : nodes.filter(({ id }) => reachable.includes(id));
  const [restoring] = (await nodesOfPhase(tx, context, RESTORED)) ?? [];
  const primaryMember = members.find(({ node, host }) => node === primary?.node && !host.dead);
  const maker = chosen ?? restoring?.node ?? primaryMember?.node ?? here[0]?.id ?? "";
  return primaryFirst(
    nodes.filter((node) => node.id === maker || here.includes(node)),
    { node: maker },
  );
}

async function archiveContextWithRollback(tx: Tx, context: ChangeContext): Promise<ArchiveContext> {
  const { timeline, previous, lost } = restoreInput(context.operation);
  const { ordinal } = await findTimeline(tx, previous);
  return { ...(await archiveContextOn(tx, context, timeline)), ...(lost ? {} : { keep: ordinal }) };
}

/** The row's present password and settings, with the data of another timeline. */
async function archiveContextOn(
  tx: Tx,
  { archiveContext, database }: ChangeContext,
  timeline: string,
): Promise<ArchiveContext> {
  if (archiveContext === undefined) throw new Error(`Database ${database.id} has no timeline to restore from.`);
  return { ...archiveContext, timeline: await findTimeline(tx, timeline) };
}

async function textOfSuccess(tx: Tx, { operation }: ChangeContext): Promise<Text> {
  const { backup, timeline, elsewhere, gtid = null } = restoreInput(operation);
  const { parent_until } = await findTimeline(tx, timeline);
  if (elsewhere?.automatic === true && parent_until !== null)
    return texts.restoredElsewhere({
      until: toExactTime(parent_until),
      gtid,
      seen: elsewhere.seen_at === null ? null : toExactTime(new Date(elsewhere.seen_at)),
    });
  return texts.restored({ backup, asOf: parent_until === null ? null : toTimestamp(parent_until) });
}

/** With milliseconds: what is lost begins there. */
const toExactTime = (at: Date): string => at.toISOString().slice(0, -1);

function textOfFailure({ operation }: ChangeContext, { done, message }: Settlement): Text {
  const { backup, lost, elsewhere } = restoreInput(operation);
  const { text: why } = message ?? (done ? texts.otherDataServed() : texts.notReadyInTime());
  if (elsewhere?.automatic === true) return texts.failedElsewhere({ why });
  return lost ? texts.failedNoData({ backup, why }) : texts.failedDataKept({ backup, why });
}
