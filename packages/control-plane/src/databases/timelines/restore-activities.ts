import { randomUUID } from "node:crypto";
import { type HostsToWake, type NodeRow, type Progress, progressOf } from "#fleet/index.ts";
import { noteInOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { type ChangeContext, type Engine, inOperation, requested, type Taken } from "../changes/change.ts";
import { chooseSuccessor } from "../clusters/health/choose-successor.ts";
import { observeMembers, observePrimary } from "../clusters/health/observe-cluster.ts";
import { isReachable } from "../clusters/member-condition.ts";
import { isCluster } from "../model/database.ts";
import {
  type ArchiveContext,
  endTimeline,
  findTimeline,
  insertTimeline,
  sameBeginning,
} from "../model/timeline-store.ts";
import { assignArchiver } from "../spec/archiver-store.ts";
import { firstOrders } from "../spec/cluster-spec.ts";
import { findPrimary, primaryFirst } from "../spec/primary-store.ts";
import { nextMaker } from "./next-maker.ts";
import { goBack } from "./restore-change.ts";
import { placeElsewhere } from "./restore-elsewhere.ts";
import { restoreInput } from "./restore-input.ts";
import {
  archiveContextOn,
  archiveContextWithRollback,
  attemptOf,
  makePrimary,
  nodesOf,
  nodesOfPhase,
  phaseOf,
  PREVIOUS,
  RECLONED,
  RESTORED,
  setDesiredTimeline,
} from "./restore-phases.ts";
import { texts } from "./texts.ts";

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
