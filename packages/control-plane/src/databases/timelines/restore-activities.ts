import { toTimestamp } from "@moorage/contract";
import type { Leader } from "@moorage/contract/agent";
import {
  checkPhase,
  findNodes,
  findPhases,
  type NodeRow,
  type Progress,
  progressOf,
  type Share,
  stopWanting,
  type Wanted,
  want,
} from "#fleet/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { WantedNode } from "#platform/db/tables.ts";
import type { ActivityDeps } from "../activities.ts";
import { giveKeeper } from "../archive/keeper-store.ts";
import { firstOrders, isCluster } from "../clusters/cluster-spec.ts";
import { isHeard } from "../clusters/health/member-condition.ts";
import { seeMembers } from "../clusters/health/see-cluster.ts";
import { findLeader, setLeader } from "../clusters/leaders/leader-store.ts";
import { leaderFirst } from "../clusters/leaders/terms.ts";
import { statusAfter } from "../database.ts";
import { type DatabaseRow, saveDatabase } from "../database-store.ts";
import { meterDatabase } from "../meter-database.ts";
import type { Past } from "../node-spec.ts";
import { type Settlement, settle } from "../settle.ts";
import { endTimeline, findTimeline, liveOn } from "../timeline-store.ts";
import { loadDatabase, type SpecContext, specsOf, wakeHosts, wantAsRow } from "../want-specs.ts";
import { restoreInput } from "./restore-input.ts";

type Context = Awaited<ReturnType<typeof loadDatabase>>;
const RESTORED = "restored";
const RENEWED = "renewed";
const PREVIOUS = "previous timeline";

/** The steps of a restore in place. Each is repeatable: it may have been done before. */
export const createRestoreActivities = ({ db, clock, zone, archive }: ActivityDeps) => {
  /** Under the lock of the database's row, and only while somebody waits for it. */
  const whileOpen = async (
    operationId: number,
    wanting: (tx: Tx, context: Context) => Promise<Wanted | undefined>,
  ): Promise<"wanted" | "not wanted"> => {
    const wanted = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId, archive);
      const { settled_at } = await findOperation(tx, operationId);
      return settled_at === null ? wanting(tx, context) : undefined;
    });
    if (wanted === undefined) return "not wanted";
    await wakeHosts(db, wanted);
    return "wanted";
  };

  return {
    /**
     * The data of the new timeline, with a way back to those of the one before. Of a cluster one member makes them, the
     * one that leads if its leader is wanted, unless it is dead; until it has, the others stay on the timeline before.
     */
    wantRestored: (operationId: number) =>
      whileOpen(operationId, async (tx, context) => {
        const past = await pastWithWayBack(tx, context);
        if (!isCluster(context.database))
          return wantPast(tx, operationId, RESTORED, { ...context, past }, await nodesOf(tx, context), { upTo: 100 });
        const [maker, ...others] = await membersInTurn(tx, context, clock());
        if (maker === undefined) return undefined;
        // Nobody else has to know that it leads: nobody of the timeline before takes part in the new one.
        const leader = await leadBy(tx, context.database, { node: maker.id, over: "alone" });
        const orders = firstOrders([maker, ...others], past.timeline, leader);
        await giveKeeper(tx, past.timeline, maker.id);
        return wantPast(tx, operationId, RESTORED, { ...context, past, orders }, [maker], { upTo: 60 });
      }),

    /** The other members of a cluster leave the timeline before, and take their data from the one that made them. */
    wantRenewed: (operationId: number) =>
      whileOpen(operationId, async (tx, context) => {
        if (!isCluster(context.database)) return undefined;
        const past = await pastWithWayBack(tx, context);
        const nodes = await membersInTurn(tx, context, clock());
        const leader = await findLeader(tx, context.database);
        // The permission to begin was used, or is not needed any more.
        const { [nodes[0]?.id ?? ""]: _begin, ...orders } = firstOrders(nodes, past.timeline, leader);
        return wantPast(tx, operationId, RENEWED, { ...context, past, orders }, nodes, { upTo: 100 });
      }),

    /** A host that goes away after it was asked is not waited for: it does as one that was away before. */
    checkRenewed: async (operationId: number): Promise<Progress> => {
      const progress = await checkPhase(db, operationId, RENEWED);
      if (progress.state !== "pending") return progress;
      return db.transaction().execute(async (tx): Promise<Progress> => {
        const context = await loadDatabase(tx, operationId, archive);
        return (await isRenewedButForOne(tx, context, clock())) ? { state: "observed" } : progress;
      });
    },

    wantPrevious: (operationId: number) => whileOpen(operationId, (tx, context) => goBack(tx, operationId, context)),

    /**
     * Done only if most hosts that were asked say that they run the new timeline: of three one may have gone away, and come
     * back a moment ago. Otherwise the one before is wanted again: its data are kept until this is settled.
     */
    settleRestore: async (operationId: number, settlement: Settlement): Promise<void> => {
      const wanted = await db.transaction().execute(async (tx) => {
        const context = await loadDatabase(tx, operationId, archive);
        const { timeline, before } = restoreInput(context.operation);
        const { account_id, id: databaseId, status } = context.database;
        const asked = await askedIn(tx, operationId, RENEWED, RESTORED);
        const on = (await nodesOf(tx, context)).filter(({ observed_timeline }) => observed_timeline === timeline);
        const askedAndOn = asked.filter(({ node }) => on.some(({ id }) => id === node));
        const done = settlement.done && 2 * askedAndOn.length > asked.length;
        const message = done ? await sentenceOfSuccess(tx, context) : sentenceOfFailure(context, settlement);
        const operation = await settle(tx, operationId, { done, message }, clock());
        if (operation === undefined) return undefined;
        const settled = await saveDatabase(tx, account_id, databaseId, {
          status: statusAfter("restore", status, { done, before }),
          ...(done ? { timeline_id: timeline } : {}),
          updated_at: clock(),
        });
        const next = await (done ? stay(tx, operationId, context) : leave(tx, operationId, context));
        // It may run for the first time, if it could not be made before.
        if (done) await meterDatabase(tx, settled, clock());
        return next;
      });
      if (wanted !== undefined) await wakeHosts(db, wanted);
    },
  };

  /**
   * The way back is given up: the volume of the timeline before goes to its host's trash. Nobody waits for that. A member
   * whose host was away hears of the new timeline now, and takes its data from the others when it is back.
   */
  async function stay(tx: Tx, operationId: number, context: Context): Promise<Wanted> {
    const { timeline, previous } = restoreInput(context.operation);
    await endTimeline(tx, previous, clock());
    await liveOn(tx, timeline, clock());
    const past = await pastOn(tx, context, timeline);
    return wantPast(tx, operationId, "without a way back", { ...context, past }, await nodesOf(tx, context));
  }

  async function leave(tx: Tx, operationId: number, context: Context): Promise<Wanted | undefined> {
    await endTimeline(tx, restoreInput(context.operation).timeline, "unused");
    return goBack(tx, operationId, context);
  }

  async function goBack(tx: Tx, operationId: number, context: Context): Promise<Wanted | undefined> {
    const { lost, leader } = restoreInput(context.operation);
    // Whoever was made to lead on the new timeline lacks what others may have of the one before.
    if (leader !== undefined) await leadBy(tx, context.database, { node: leader, over: "fence" });
    // The host has no earlier data: told to run them, it would make an empty database.
    if (!lost) return wantAsRow(tx, operationId, PREVIOUS, { ...context, zone });
    for (const node of await nodesOf(tx, context)) await stopWanting(tx, node);
    return undefined;
  }

  /** Of an asynchronous cluster: undefined for a group. */
  async function leadBy(tx: Tx, database: DatabaseRow, next: Omit<Leader, "term">): Promise<Leader | undefined> {
    const leader = await findLeader(tx, database);
    return leader === undefined || leader.node === next.node ? leader : setLeader(tx, database, next, clock());
  }

  async function wantPast(
    tx: Tx,
    operationId: number,
    phase: string,
    context: Context & Pick<SpecContext, "orders">,
    nodes: readonly NodeRow[],
    share?: Share,
  ): Promise<Wanted> {
    return want(tx, operationId, phase, await specsOf(tx, nodes, { ...context, zone }), share);
  }
};
export type RestoreActivities = ReturnType<typeof createRestoreActivities>;

const nodesOf = (tx: Tx, { database }: Context): Promise<NodeRow[]> => findNodes(tx, database.account_id, database.id);

/** In the first of these phases that there was. */
async function askedIn(tx: Tx, operationId: number, ...names: string[]): Promise<readonly WantedNode[]> {
  const phases = await findPhases(tx, operationId);
  const [found] = names.flatMap((name) => phases.filter(({ phase }) => phase === name));
  return found?.nodes ?? [];
}

/** Two have the new data, and the host of the third is away: with nobody else it cannot go on with those before. */
async function isRenewedButForOne(tx: Tx, context: Context, now: Date): Promise<boolean> {
  const { operation, database } = context;
  const members = await seeMembers(tx, database, { now });
  const isHere = ({ node }: { node: string }): boolean =>
    members.some((member) => member.node === node && isHeard(member.host));
  const asked = await askedIn(tx, operation.id, RENEWED);
  const here = asked.filter(isHere);
  return here.length === 2 && asked.length === 3 && progressOf(await nodesOf(tx, context), here).state === "observed";
}

/** First the one that makes the data, then the others that can take them from it now. */
async function membersInTurn(tx: Tx, context: Context, now: Date): Promise<NodeRow[]> {
  const { operation, database } = context;
  const leader = await findLeader(tx, database);
  const nodes = leaderFirst(await nodesOf(tx, context), leader);
  const members = await seeMembers(tx, database, { now });
  const heard = members.filter(({ host }) => isHeard(host)).map(({ node }) => node);
  const silent = members.filter(({ node, host }) => !heard.includes(node) && !host.dead);
  // Two that may be alive could go on with the timeline before, and lead clients to it: then all are waited for.
  const here = silent.length > 1 || heard.length === 0 ? nodes : nodes.filter(({ id }) => heard.includes(id));
  const [asked] = await askedIn(tx, operation.id, RESTORED);
  const leads = members.find(({ node, host }) => node === leader?.node && !host.dead);
  const maker = asked?.node ?? leads?.node ?? here[0]?.id ?? "";
  return leaderFirst(
    nodes.filter((node) => node.id === maker || here.includes(node)),
    { node: maker },
  );
}

async function pastWithWayBack(tx: Tx, context: Context): Promise<Past> {
  const { timeline, previous, lost } = restoreInput(context.operation);
  const { ordinal } = await findTimeline(tx, previous);
  return { ...(await pastOn(tx, context, timeline)), ...(lost ? {} : { keep: ordinal }) };
}

/** Today's password and settings, as the row has them, on the data of another timeline. */
async function pastOn(tx: Tx, { past, database }: Context, timeline: string): Promise<Past> {
  if (past === undefined) throw new Error(`Database ${database.id} has no past to restore from.`);
  return { ...past, timeline: await findTimeline(tx, timeline) };
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
