import { areReachable, findHost, findNodes, type NodeRow, type Share, setDesiredSpecs } from "#fleet/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { ActivityDeps } from "../../activities.ts";
import type { DatabaseRow } from "../../database-store.ts";
import { type Settlement, settle } from "../../settle.ts";
import { areThere, loadDatabase, specsOf, wakeHosts, setDesiredFromRow } from "../../desired-specs.ts";
import { continueWith, leftOutSince } from "../../archive/branch-archive.ts";
import { isAsynchronous, type OrdersOf } from "../cluster-spec.ts";
import { isAtHand } from "./cluster-health.ts";
import { type BootstrapMember, nextOfFollowing, nextOfBootstrap } from "./bootstrapping.ts";
import { checkSoon } from "./check-store.ts";
import type { BootstrapInput } from "./open-repair.ts";
import { orderId } from "./order-id.ts";
import { reportsOf } from "./report-store.ts";

/** What the workflow does next. */
export type BootstrapProgress = { next: "wait" } | { next: "bootstrapped" } | { next: "failed"; why: string };

type Taken = { progress: BootstrapProgress; hosts: number[] };
const taken = (progress: BootstrapProgress, hosts: number[] = []): Taken => ({ progress, hosts });

/** The steps of bootstrapping a group. Each is repeatable, and decides the next one from the rows. */
export const createBootstrapActivities = ({ db, clock, zone, archive }: Omit<ActivityDeps, "sealer">) => {
  /** `isPermitted`: a member already has the permission to bootstrap. It keeps it until its group is gone. */
  const takeStep = async (tx: Tx, operationId: number, isPermitted: boolean): Promise<Taken> => {
    const context = await loadDatabase(tx, operationId, archive);
    const { database } = context;
    // Read again under the row's lock: a settled operation stops here.
    const { settled_at, input, kind } = await findOperation(tx, operationId);
    const nodes = await findNodes(tx, database.account_id, database.id);
    const isWhole = areThere(nodes) && nodes.length === database.cluster_size;
    if (settled_at !== null || isOvertaken(kind, database) || !isWhole)
      return taken({ next: "failed", why: "it was asked for something else meanwhile." });

    const setDesiredOfAll = async (phase: string, orders: OrdersOf = {}, share?: Share): Promise<number[]> =>
      (await setDesiredSpecs(tx, operationId, phase, await specsOf(tx, nodes, { ...context, zone, orders }), share))
        .hosts;
    if (isAsynchronous(database)) {
      const { do: next } = nextOfFollowing(await bootstrapMembersOf(tx, nodes, clock()));
      return taken({ next: next === "done" ? "bootstrapped" : "wait" });
    }
    const rounds = await roundsOf(tx, operationId);
    const members = await bootstrapMembersOf(tx, nodes, clock());
    const acceptsLoss = (input as BootstrapInput).accept_loss === true;
    const next = nextOfBootstrap(members, acceptsLoss);
    // First withdraw every earlier permission; the hosts have to confirm that.
    if (rounds.withdrawn === 0)
      return taken({ next: "wait" }, isPermitted && next.do !== "withdraw" ? [] : await setDesiredOfAll("withdraw 1"));

    switch (next.do) {
      case "wait":
        return taken({ next: "wait" });
      case "bootstrap": {
        const { leftOut, refused } = await continueWith(tx, timelineOf(context), next.gtid, {
          acceptsLoss,
          at: clock(),
        });
        if (refused)
          return taken({
            next: "failed",
            why: `its backups have ${leftOut} transactions that none of them has. Ask the operator.`,
          });
        const phase = `bootstrap ${rounds.bootstraps + 1}`;
        const orders = { [next.node]: { bootstrap: orderId(operationId, phase) } };
        return taken({ next: "wait" }, await setDesiredOfAll(phase, orders, { upTo: 100 }));
      }
      case "withdraw":
        return taken({ next: "wait" }, await setDesiredOfAll(`withdraw ${rounds.withdrawn + 1}`));
      case "done":
        return taken(
          { next: "bootstrapped" },
          members.some(({ bootstrap }) => bootstrap !== undefined) ? await setDesiredOfAll("bootstrapped") : [],
        );
      case "fail":
        return taken({ next: "failed", why: next.why });
    }
  };

  const step = async (operationId: number, isPermitted: boolean): Promise<BootstrapProgress> => {
    const { progress, hosts } = await db.transaction().execute((tx) => takeStep(tx, operationId, isPermitted));
    await wakeHosts(db, { hosts });
    return progress;
  };

  return {
    advanceBootstrap: (operationId: number): Promise<BootstrapProgress> => step(operationId, false),

    /** For a new cluster: one of its members bootstraps. If that one dies before another has joined it, another may. */
    retryBootstrap: (operationId: number): Promise<BootstrapProgress> => step(operationId, true),

    /** After the end no permission is left. */
    settleBootstrap: async (operationId: number, settlement: Settlement): Promise<void> => {
      const toWake = await db.transaction().execute(async (tx) => {
        const context = await loadDatabase(tx, operationId, archive);
        const operation = await settle(tx, operationId, await withLoss(tx, context, settlement), clock());
        if (operation === undefined || isOvertaken(operation.kind, context.database)) return undefined;
        const without = await setDesiredFromRow(tx, operationId, "without orders", { ...context, zone });
        await checkSoon(tx, context.database, clock());
        return without;
      });
      if (toWake !== undefined) await wakeHosts(db, toWake);
    },
  };
};
export type BootstrapActivities = ReturnType<typeof createBootstrapActivities>;

type Context = Awaited<ReturnType<typeof loadDatabase>>;

/** The timeline's id is the name of the group. */
function timelineOf({ archiveContext, database }: Context): string {
  if (archiveContext === undefined) throw new Error(`Database ${database.id} lives on no timeline.`);
  return archiveContext.timeline.id;
}

async function withLoss(tx: Tx, context: Context, settlement: Settlement): Promise<Settlement> {
  if (!settlement.done || isAsynchronous(context.database)) return settlement;
  const message = await leftOutSince(tx, timelineOf(context), context.operation.created_at);
  return message === undefined ? settlement : { ...settlement, message };
}

/**
 * As a part of another operation the bootstrap has that one's status; on its own it stops when another operation
 * starts.
 */
const isOvertaken = (kind: string, { status, deleted_at, powered }: DatabaseRow): boolean =>
  deleted_at !== null || !powered || (kind === "bootstrapGroup" && !isAtHand(status));

async function roundsOf(tx: Tx, operationId: number): Promise<{ bootstraps: number; withdrawn: number }> {
  const rows = await tx.selectFrom("desired_phases").select("phase").where("operation_id", "=", operationId).execute();
  const count = (prefix: string): number => rows.filter(({ phase }) => phase.startsWith(prefix)).length;
  return { bootstraps: count("bootstrap "), withdrawn: count("withdraw ") };
}

async function bootstrapMembersOf(tx: Tx, nodes: readonly NodeRow[], now: Date): Promise<BootstrapMember[]> {
  const reports = await reportsOf(tx, nodes);
  const members: BootstrapMember[] = [];
  for (const node of nodes) {
    const host = await findHost(tx, node.host_id);
    const isCurrent = node.observed_epoch === node.desired_epoch && node.observed_generation >= node.desired_generation;
    members.push({
      ...{ node: node.id, ordinal: node.ordinal, dead: host.state === "dead", state: node.observed_state },
      followed: isCurrent && host.state !== "dead" && (await areReachable(tx, [node.host_id], now)),
      report: reports.get(node.id) ?? null,
      bootstrap: node.desired_spec?.cluster?.bootstrap,
    });
  }
  return members;
}
