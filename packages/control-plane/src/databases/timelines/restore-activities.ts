import { toTimestamp } from "@moorage/contract";
import type { PrimaryTerm } from "@moorage/contract/agent";
import {
  checkPhase,
  findNodes,
  findPhases,
  type NodeRow,
  type Progress,
  progressOf,
  type Share,
  clearDesiredSpec,
  type HostsToWake,
  setDesiredSpecs,
} from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DesiredNode } from "#platform/db/tables.ts";
import type { Text } from "@moorage/contract/texts";
import { assignArchiver } from "../archive/archiver-store.ts";
import { firstOrders, isCluster } from "../clusters/cluster-spec.ts";
import { isReachable } from "../clusters/health/member-condition.ts";
import { observeMembers } from "../clusters/health/observe-cluster.ts";
import { findPrimary, setPrimary } from "../clusters/async-primary/primary-store.ts";
import { primaryFirst } from "../clusters/async-primary/terms.ts";
import { statusAfter } from "../database.ts";
import { type DatabaseRow, saveDatabase } from "../database-store.ts";
import { meterDatabase } from "../meter-database.ts";
import type { ArchiveContext } from "../node-spec.ts";
import type { Change } from "../changes/change.ts";
import { type ChangeContext, type Engine, inOperation, requested, type Taken } from "../changes/in-operation.ts";
import type { Settlement } from "../changes/settle.ts";
import { endTimeline, findTimeline, liveOn } from "../timeline-store.ts";
import { type SpecContext, setDesiredFromRow, specsOf } from "../desired-specs.ts";
import { restoreInput } from "./restore-input.ts";
import { texts } from "./texts.ts";

const RESTORED = "restored";
const RECLONED = "recloned";
const PREVIOUS = "previous timeline";

/** The steps of a restore in place. Each is repeatable: it may have run before. */
export const createRestoreActivities = (engine: Engine) => {
  const { clock } = engine;
  const whileOpen = (
    operationId: number,
    write: (tx: Tx, context: ChangeContext) => Promise<HostsToWake | undefined>,
  ): Promise<"requested" | "not requested"> =>
    inOperation(engine, operationId, async (tx, context) =>
      requested(context.isOpen ? await write(tx, context) : undefined),
    );

  return {
    /**
     * Requests the data of the new timeline, with a way back to the previous one. In a cluster one member restores
     * them: the primary of an asynchronous cluster, unless it is dead. The others stay on the previous timeline until
     * it is done.
     */
    setRestoredTimeline: (operationId: number) =>
      whileOpen(operationId, async (tx, context) => {
        const archiveContext = await archiveContextWithRollback(tx, context);
        if (!isCluster(context.database))
          return setDesiredTimeline(tx, RESTORED, { ...context, archiveContext }, await nodesOf(tx, context), {
            upTo: 100,
          });
        const [maker, ...others] = await membersInOrder(tx, context, clock());
        if (maker === undefined) return undefined;
        // No other member needs to confirm the new primary: none of the previous timeline takes part in the new one.
        const next = { node: maker.id, reason: "sole_survivor" } as const;
        const primary = await makePrimary(tx, context.database, next, clock());
        const orders = firstOrders([maker, ...others], archiveContext.timeline, primary);
        await assignArchiver(tx, archiveContext.timeline, maker.id);
        return setDesiredTimeline(tx, RESTORED, { ...context, archiveContext, orders }, [maker], { upTo: 60 });
      }),

    /**
     * The other members of a cluster leave the previous timeline and clone their data from the one that restored them.
     */
    recloneMembers: (operationId: number) =>
      whileOpen(operationId, async (tx, context) => {
        if (!isCluster(context.database)) return undefined;
        const archiveContext = await archiveContextWithRollback(tx, context);
        const nodes = await membersInOrder(tx, context, clock());
        const primary = await findPrimary(tx, context.database);
        // The permission to bootstrap was used, or is not needed any more.
        const { [nodes[0]?.id ?? ""]: _bootstrap, ...orders } = firstOrders(nodes, archiveContext.timeline, primary);
        return setDesiredTimeline(tx, RECLONED, { ...context, archiveContext, orders }, nodes, { upTo: 100 });
      }),

    /** A host that goes away after the request is not waited for: it is treated like one that was away before. */
    checkRecloned: async (operationId: number): Promise<Progress> => {
      const progress = await checkPhase(engine.db, operationId, RECLONED);
      if (progress.state !== "pending") return progress;
      return inOperation(engine, operationId, async (tx, context): Promise<Taken<Progress>> => {
        const isDone = await isReclonedButForOne(tx, context, clock());
        return { answer: isDone ? { state: "observed" } : progress };
      });
    },

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
    const requestedNodes = await requestedIn(tx, context.operation.id, RECLONED, RESTORED);
    const on = (await nodesOf(tx, context)).filter(({ observed_timeline }) => observed_timeline === timeline);
    const confirmed = requestedNodes.filter(({ node }) => on.some(({ id }) => id === node));
    const done = proposed.done && 2 * confirmed.length > requestedNodes.length;
    return { done, message: done ? await textOfSuccess(tx, context) : textOfFailure(context, proposed) };
  },
  /** On failure the previous timeline is requested again: its data are kept until this is settled. */
  async end(tx, context, { done }, at) {
    const { timeline, before } = restoreInput(context.operation);
    const { account_id, id, status } = context.database;
    const settled = await saveDatabase(tx, account_id, id, {
      status: statusAfter("restore", status, { done, before }),
      ...(done ? { timeline_id: timeline } : {}),
      updated_at: at,
    });
    const next = await (done ? stay(tx, context, at) : leave(tx, context, at));
    // The database may run for the first time, if it could not be provisioned before.
    if (done) await meterDatabase(tx, settled, at);
    return next;
  },
};

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
  const { lost, primary } = restoreInput(operation);
  // The primary of the new timeline lacks what others may have of the previous one.
  if (primary !== undefined) await makePrimary(tx, database, { node: primary, reason: "fenced" }, at);
  // The host has no earlier data: ordered to run them, it would make an empty database.
  if (!lost) return setDesiredFromRow(tx, operation.id, PREVIOUS, context);
  for (const node of await nodesOf(tx, context)) await clearDesiredSpec(tx, node);
  return undefined;
}

/** For an asynchronous cluster; undefined for a group. */
async function makePrimary(
  tx: Tx,
  database: DatabaseRow,
  next: Omit<PrimaryTerm, "term">,
  at: Date,
): Promise<PrimaryTerm | undefined> {
  const primary = await findPrimary(tx, database);
  return primary === undefined || primary.node === next.node ? primary : setPrimary(tx, database, next, at);
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

/** The nodes of the first of these phases that exists. */
async function requestedIn(tx: Tx, operationId: number, ...names: string[]): Promise<readonly DesiredNode[]> {
  const phases = await findPhases(tx, operationId);
  const [found] = names.flatMap((name) => phases.filter(({ phase }) => phase === name));
  return found?.nodes ?? [];
}

/** Two have the new data, and the host of the third is away: alone it cannot continue with the previous data. */
async function isReclonedButForOne(tx: Tx, context: ChangeContext, now: Date): Promise<boolean> {
  const { operation, database } = context;
  const members = await observeMembers(tx, database, { now });
  const isHere = ({ node }: { node: string }): boolean =>
    members.some((member) => member.node === node && isReachable(member.host));
  const recloned = await requestedIn(tx, operation.id, RECLONED);
  const here = recloned.filter(isHere);
  return (
    here.length === 2 && recloned.length === 3 && progressOf(await nodesOf(tx, context), here).state === "observed"
  );
}

/** First the member that restores the data, then the others that can clone from it now. */
async function membersInOrder(tx: Tx, context: ChangeContext, now: Date): Promise<NodeRow[]> {
  const { operation, database } = context;
  const primary = await findPrimary(tx, database);
  const nodes = primaryFirst(await nodesOf(tx, context), primary);
  const members = await observeMembers(tx, database, { now });
  const reachable = members.filter(({ host }) => isReachable(host)).map(({ node }) => node);
  const silent = members.filter(({ node, host }) => !reachable.includes(node) && !host.dead);
  // Two members that may be alive could continue on the previous timeline and serve clients: then all are waited for.
  const here = silent.length > 1 || reachable.length === 0 ? nodes : nodes.filter(({ id }) => reachable.includes(id));
  const [restoring] = await requestedIn(tx, operation.id, RESTORED);
  const primaryMember = members.find(({ node, host }) => node === primary?.node && !host.dead);
  const maker = restoring?.node ?? primaryMember?.node ?? here[0]?.id ?? "";
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
  const { backup, timeline } = restoreInput(operation);
  const { parent_until } = await findTimeline(tx, timeline);
  return texts.restored({ backup, asOf: parent_until === null ? null : toTimestamp(parent_until) });
}

function textOfFailure({ operation }: ChangeContext, { done, message }: Settlement): Text {
  const { backup, lost } = restoreInput(operation);
  const { text: why } = message ?? (done ? texts.otherDataServed() : texts.notReadyInTime());
  return lost ? texts.failedNoData({ backup, why }) : texts.failedDataKept({ backup, why });
}
