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
import { findOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DesiredNode } from "#platform/db/tables.ts";
import type { ActivityDeps } from "../activities.ts";
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
import { type Settlement, settle } from "../settle.ts";
import { endTimeline, findTimeline, liveOn } from "../timeline-store.ts";
import { loadDatabase, type SpecContext, specsOf, wakeHosts, setDesiredFromRow } from "../desired-specs.ts";
import { restoreInput } from "./restore-input.ts";

type Context = Awaited<ReturnType<typeof loadDatabase>>;
const RESTORED = "restored";
const RECLONED = "recloned";
const PREVIOUS = "previous timeline";

/** The steps of a restore in place. Each is repeatable: it may have run before. */
export const createRestoreActivities = ({ db, clock, zone, archive }: ActivityDeps) => {
  /** Under the lock of the database's row, and only while the operation is open. */
  const whileOpen = async (
    operationId: number,
    write: (tx: Tx, context: Context) => Promise<HostsToWake | undefined>,
  ): Promise<"requested" | "not requested"> => {
    const toWake = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId, archive);
      const { settled_at } = await findOperation(tx, operationId);
      return settled_at === null ? write(tx, context) : undefined;
    });
    if (toWake === undefined) return "not requested";
    await wakeHosts(db, toWake);
    return "requested";
  };

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
          return setDesiredTimeline(
            tx,
            operationId,
            RESTORED,
            { ...context, archiveContext },
            await nodesOf(tx, context),
            { upTo: 100 },
          );
        const [maker, ...others] = await membersInOrder(tx, context, clock());
        if (maker === undefined) return undefined;
        // No other member needs to confirm the new primary: none of the previous timeline takes part in the new one.
        const primary = await makePrimary(tx, context.database, { node: maker.id, reason: "sole_survivor" });
        const orders = firstOrders([maker, ...others], archiveContext.timeline, primary);
        await assignArchiver(tx, archiveContext.timeline, maker.id);
        return setDesiredTimeline(tx, operationId, RESTORED, { ...context, archiveContext, orders }, [maker], {
          upTo: 60,
        });
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
        return setDesiredTimeline(tx, operationId, RECLONED, { ...context, archiveContext, orders }, nodes, {
          upTo: 100,
        });
      }),

    /** A host that goes away after the request is not waited for: it is treated like one that was away before. */
    checkRecloned: async (operationId: number): Promise<Progress> => {
      const progress = await checkPhase(db, operationId, RECLONED);
      if (progress.state !== "pending") return progress;
      return db.transaction().execute(async (tx): Promise<Progress> => {
        const context = await loadDatabase(tx, operationId, archive);
        return (await isReclonedButForOne(tx, context, clock())) ? { state: "observed" } : progress;
      });
    },

    setPreviousTimeline: (operationId: number) =>
      whileOpen(operationId, (tx, context) => goBack(tx, operationId, context)),

    /**
     * Succeeds only if most of the requested hosts report the new timeline: one of three may have been away until a
     * moment ago. Otherwise the previous timeline is requested again: its data are kept until this is settled.
     */
    settleRestore: async (operationId: number, settlement: Settlement): Promise<void> => {
      const toWake = await db.transaction().execute(async (tx) => {
        const context = await loadDatabase(tx, operationId, archive);
        const { timeline, before } = restoreInput(context.operation);
        const { account_id, id: databaseId, status } = context.database;
        const requested = await requestedIn(tx, operationId, RECLONED, RESTORED);
        const on = (await nodesOf(tx, context)).filter(({ observed_timeline }) => observed_timeline === timeline);
        const confirmed = requested.filter(({ node }) => on.some(({ id }) => id === node));
        const done = settlement.done && 2 * confirmed.length > requested.length;
        const message = done ? await sentenceOfSuccess(tx, context) : sentenceOfFailure(context, settlement);
        const operation = await settle(tx, operationId, { done, message }, clock());
        if (operation === undefined) return undefined;
        const settled = await saveDatabase(tx, account_id, databaseId, {
          status: statusAfter("restore", status, { done, before }),
          ...(done ? { timeline_id: timeline } : {}),
          updated_at: clock(),
        });
        const next = await (done ? stay(tx, operationId, context) : leave(tx, operationId, context));
        // The database may run for the first time, if it could not be provisioned before.
        if (done) await meterDatabase(tx, settled, clock());
        return next;
      });
      if (toWake !== undefined) await wakeHosts(db, toWake);
    },
  };

  /**
   * Gives up the way back: the volume of the previous timeline goes to its host's trash, which nobody waits for. A
   * member whose host was away now gets the new timeline, and clones its data from the others when it is back.
   */
  async function stay(tx: Tx, operationId: number, context: Context): Promise<HostsToWake> {
    const { timeline, previous } = restoreInput(context.operation);
    await endTimeline(tx, previous, clock());
    await liveOn(tx, timeline, clock());
    const archiveContext = await archiveContextOn(tx, context, timeline);
    return setDesiredTimeline(
      tx,
      operationId,
      "without a way back",
      { ...context, archiveContext },
      await nodesOf(tx, context),
    );
  }

  async function leave(tx: Tx, operationId: number, context: Context): Promise<HostsToWake | undefined> {
    await endTimeline(tx, restoreInput(context.operation).timeline, "unused");
    return goBack(tx, operationId, context);
  }

  async function goBack(tx: Tx, operationId: number, context: Context): Promise<HostsToWake | undefined> {
    const { lost, primary } = restoreInput(context.operation);
    // The primary of the new timeline lacks what others may have of the previous one.
    if (primary !== undefined) await makePrimary(tx, context.database, { node: primary, reason: "fenced" });
    // The host has no earlier data: ordered to run them, it would make an empty database.
    if (!lost) return setDesiredFromRow(tx, operationId, PREVIOUS, { ...context, zone });
    for (const node of await nodesOf(tx, context)) await clearDesiredSpec(tx, node);
    return undefined;
  }

  /** For an asynchronous cluster; undefined for a group. */
  async function makePrimary(
    tx: Tx,
    database: DatabaseRow,
    next: Omit<PrimaryTerm, "term">,
  ): Promise<PrimaryTerm | undefined> {
    const primary = await findPrimary(tx, database);
    return primary === undefined || primary.node === next.node ? primary : setPrimary(tx, database, next, clock());
  }

  async function setDesiredTimeline(
    tx: Tx,
    operationId: number,
    phase: string,
    context: Context & Pick<SpecContext, "orders">,
    nodes: readonly NodeRow[],
    share?: Share,
  ): Promise<HostsToWake> {
    return setDesiredSpecs(tx, operationId, phase, await specsOf(tx, nodes, { ...context, zone }), share);
  }
};
export type RestoreActivities = ReturnType<typeof createRestoreActivities>;

const nodesOf = (tx: Tx, { database }: Context): Promise<NodeRow[]> => findNodes(tx, database.account_id, database.id);

/** The nodes of the first of these phases that exists. */
async function requestedIn(tx: Tx, operationId: number, ...names: string[]): Promise<readonly DesiredNode[]> {
  const phases = await findPhases(tx, operationId);
  const [found] = names.flatMap((name) => phases.filter(({ phase }) => phase === name));
  return found?.nodes ?? [];
}

/** Two have the new data, and the host of the third is away: alone it cannot continue with the previous data. */
async function isReclonedButForOne(tx: Tx, context: Context, now: Date): Promise<boolean> {
  const { operation, database } = context;
  const members = await observeMembers(tx, database, { now });
  const isHere = ({ node }: { node: string }): boolean =>
    members.some((member) => member.node === node && isReachable(member.host));
  const requested = await requestedIn(tx, operation.id, RECLONED);
  const here = requested.filter(isHere);
  return (
    here.length === 2 && requested.length === 3 && progressOf(await nodesOf(tx, context), here).state === "observed"
  );
}

/** First the member that restores the data, then the others that can clone from it now. */
async function membersInOrder(tx: Tx, context: Context, now: Date): Promise<NodeRow[]> {
  const { operation, database } = context;
  const primary = await findPrimary(tx, database);
  const nodes = primaryFirst(await nodesOf(tx, context), primary);
  const members = await observeMembers(tx, database, { now });
  const reachable = members.filter(({ host }) => isReachable(host)).map(({ node }) => node);
  const silent = members.filter(({ node, host }) => !reachable.includes(node) && !host.dead);
  // Two members that may be alive could continue on the previous timeline and serve clients: then all are waited for.
  const here = silent.length > 1 || reachable.length === 0 ? nodes : nodes.filter(({ id }) => reachable.includes(id));
  const [requested] = await requestedIn(tx, operation.id, RESTORED);
  const primaryMember = members.find(({ node, host }) => node === primary?.node && !host.dead);
  const maker = requested?.node ?? primaryMember?.node ?? here[0]?.id ?? "";
  return primaryFirst(
    nodes.filter((node) => node.id === maker || here.includes(node)),
    { node: maker },
  );
}

async function archiveContextWithRollback(tx: Tx, context: Context): Promise<ArchiveContext> {
  const { timeline, previous, lost } = restoreInput(context.operation);
  const { ordinal } = await findTimeline(tx, previous);
  return { ...(await archiveContextOn(tx, context, timeline)), ...(lost ? {} : { keep: ordinal }) };
}

/** The row's present password and settings, with the data of another timeline. */
async function archiveContextOn(
  tx: Tx,
  { archiveContext, database }: Context,
  timeline: string,
): Promise<ArchiveContext> {
  if (archiveContext === undefined) throw new Error(`Database ${database.id} has no past to restore from.`);
  return { ...archiveContext, timeline: await findTimeline(tx, timeline) };
}

async function sentenceOfSuccess(tx: Tx, { operation }: Context): Promise<string> {
  const { backup, timeline } = restoreInput(operation);
  const { parent_until } = await findTimeline(tx, timeline);
  return `Restored to ${backup}${parent_until === null ? "" : `, as of ${toTimestamp(parent_until)}`}.`;
}

function sentenceOfFailure({ operation }: Context, { done, message }: Settlement): string {
  const { backup, lost } = restoreInput(operation);
  const why = message ?? (done ? "its host runs other data." : "it was not ready in time.");
  const data = lost ? "there are no data yet" : "the data from before it are kept and in use";
  return `The restore to ${backup} did not succeed, and ${data}: ${why}`;
}
