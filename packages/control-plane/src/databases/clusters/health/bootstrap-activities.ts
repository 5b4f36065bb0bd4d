import { areReachable, findHost, findNodes, type NodeRow, type Share, setDesiredSpecs } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../database-store.ts";
import type { Change } from "../../changes/change.ts";
import { type ChangeContext, type Engine, inOperation, type Taken } from "../../changes/in-operation.ts";
import type { Settlement } from "../../changes/settle.ts";
import { areThere, setDesiredFromRow, specsOf } from "../../desired-specs.ts";
import { continueWith, leftOutSince } from "../../archive/branch-archive.ts";
import { isAsynchronous, type OrdersOf } from "../cluster-spec.ts";
import { texts } from "../texts.ts";
import { isAtHand } from "./cluster-health.ts";
import { type BootstrapMember, nextOfFollowing, nextOfBootstrap } from "./bootstrapping.ts";
import { checkSoon } from "./check-store.ts";
import { orderId } from "./order-id.ts";
import { reportsOf } from "./report-store.ts";

/** `accept_loss`: do not wait for members on dead hosts, whatever they had. */
export type BootstrapInput = { accept_loss?: true };

/** What the workflow does next. */
export type BootstrapProgress = { next: "wait" } | { next: "bootstrapped" } | { next: "failed"; why: string };

const taken = (answer: BootstrapProgress, hosts: readonly number[] = []): Taken<BootstrapProgress> => ({
  answer,
  hosts,
});

/** The steps of bootstrapping a group. Each is repeatable, and decides the next one from the rows. */
export const createBootstrapActivities = (engine: Engine) => {
  const { clock } = engine;
  /** `isPermitted`: a member already has the permission to bootstrap. It keeps it until its group is gone. */
  const step = (operationId: number, isPermitted: boolean): Promise<BootstrapProgress> =>
    inOperation(engine, operationId, async (tx, context): Promise<Taken<BootstrapProgress>> => {
      const { database, isOpen } = context;
      const { input, kind } = context.operation;
      const nodes = await findNodes(tx, database.account_id, database.id);
      const isWhole = areThere(nodes) && nodes.length === database.cluster_size;
      if (!isOpen || isOvertaken(kind, database) || !isWhole)
        return taken({ next: "failed", why: texts.operationOvertaken().text });

      const setDesiredOfAll = async (phase: string, orders: OrdersOf = {}, share?: Share): Promise<number[]> =>
        (await setDesiredSpecs(tx, operationId, phase, await specsOf(tx, nodes, { ...context, orders }), share)).hosts;
      const members = await bootstrapMembersOf(tx, nodes, clock());
      if (isAsynchronous(database))
        return taken({ next: nextOfFollowing(members).do === "done" ? "bootstrapped" : "wait" });
      const rounds = await roundsOf(tx, operationId);
      const acceptsLoss = (input as BootstrapInput).accept_loss === true;
      const next = nextOfBootstrap(members, acceptsLoss);
      // First withdraw every earlier permission; the hosts have to confirm that.
      if (rounds.withdrawn === 0)
        return taken(
          { next: "wait" },
          isPermitted && next.do !== "withdraw" ? [] : await setDesiredOfAll("withdraw 1"),
        );

      switch (next.do) {
        case "wait":
          return taken({ next: "wait" });
        case "bootstrap": {
          const { leftOut, refused } = await continueWith(tx, timelineOf(context), next.gtid, {
            acceptsLoss,
            at: clock(),
          });
          if (refused) return taken({ next: "failed", why: texts.bootstrapBackupsAhead({ leftOut }).text });
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
          return taken({ next: "failed", why: next.why.text });
      }
    });

  return {
    advanceBootstrap: (operationId: number): Promise<BootstrapProgress> => step(operationId, false),

    /** For a new cluster: one of its members bootstraps. If that one dies before another has joined it, another may. */
    retryBootstrap: (operationId: number): Promise<BootstrapProgress> => step(operationId, true),
  };
};
export type BootstrapActivities = ReturnType<typeof createBootstrapActivities>;

export const bootstrap: Change = {
  kind: "bootstrapGroup",
  audited: "bootstrap_group",
  events: ["database_group_form"],
  late: texts.bootstrapLate,
  judge: withLoss,
  /** After the end no permission is left. */
  async end(tx, context, _settlement, at) {
    const { operation, database } = context;
    if (isOvertaken(operation.kind, database)) return undefined;
    const without = await setDesiredFromRow(tx, operation.id, "without orders", context);
    await checkSoon(tx, database, at);
    return without;
  },
};

/** The timeline's id is the name of the group. */
function timelineOf({ archiveContext, database }: ChangeContext): string {
  if (archiveContext === undefined) throw new Error(`Database ${database.id} lives on no timeline.`);
  return archiveContext.timeline.id;
}

async function withLoss(tx: Tx, context: ChangeContext, settlement: Settlement): Promise<Settlement> {
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
      node: node.id,
      ordinal: node.ordinal,
      dead: host.state === "dead",
      state: node.observed_state,
      followed: isCurrent && host.state !== "dead" && (await areReachable(tx, [node.host_id], now)),
      report: reports.get(node.id) ?? null,
      bootstrap: node.desired_spec?.cluster?.bootstrap,
    });
  }
  return members;
}
