import {
  areReachable,
  checkSoon,
  findHost,
  findNodes,
  type NodeRow,
  setDesiredSpecs,
  type Share,
} from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { continueWith, markLossReported, unreportedLoss } from "../../archive/archive-end.ts";
import {
  type Change,
  type ChangeContext,
  type Engine,
  inOperation,
  type Settlement,
  type Taken,
} from "../../changes/change.ts";
import type { DatabaseRow } from "../../model/database-store.ts";
import { isAsynchronous, statusDuring } from "../../model/database.ts";
import type { OrdersOf } from "../../spec/cluster-spec.ts";
import { areThere, setDesiredFromRow, specsOf } from "../../spec/desired-specs.ts";
import { reportsOf } from "../../spec/primary-store.ts";
import { texts } from "../texts.ts";
import {
  type BootstrapMember,
  hasMajority,
  membersToCount,
  nextOfBootstrap,
  nextOfFollowing,
} from "./bootstrapping.ts";
import { isAtHand } from "./cluster-health.ts";
import { orderId } from "./order-id.ts";
import { isSeenByDesired } from "./seen-by-desired.ts";
import { letJoin } from "./withdraw-orders.ts";

/** `accept_loss`: do not wait for members on dead hosts, whatever they had. */
export type BootstrapInput = { accept_loss?: true };

const RESUMING = statusDuring("resume");

/** What the workflow does next. */
export type BootstrapProgress =
  | { next: "wait" }
  | { next: "bootstrapped" }
  /** Only a person can accept what the members on dead hosts may have had. */
  | { next: "too few" }
  | { next: "failed"; why: string };

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
      const acceptsLoss = (input as BootstrapInput).accept_loss === true;
      const nodes = await findNodes(tx, database.account_id, database.id);
      const isWhole = areThere(nodes) && nodes.length === database.cluster_size;
      if (!isOpen || isOvertaken(kind, database) || !isWhole)
        return taken({ next: "failed", why: texts.operationOvertaken().text });

      const members = await bootstrapMembersOf(tx, nodes, clock());
      const wasSuspended = database.status === RESUMING;
      if (wasSuspended && !hasMajority(members)) return taken({ next: "too few" });
      const counted = membersToCount(members, { acceptsLoss, wasSuspended });
      if (isAsynchronous(database))
        return taken({ next: nextOfFollowing(counted).do === "done" ? "bootstrapped" : "wait" });
      const next = nextOfBootstrap(members, counted);
      const round: Round = {
        tx,
        context,
        members,
        rounds: await roundsOf(tx, operationId),
        setDesired: async (phase, orders = {}, share) =>
          (await setDesiredSpecs(tx, operationId, phase, await specsOf(tx, nodes, { ...context, orders }), share))
            .hosts,
      };
      // First every earlier permission is withdrawn, and nobody joins a group; the hosts have to confirm that.
      if (round.rounds.withdrawn > 0) return carryOut(round, next, { acceptsLoss, at: clock() });
      const isWithdrawnLater = isPermitted && next.do !== "withdraw";
      return taken({ next: "wait" }, isWithdrawnLater ? [] : await stayOut(round));
    });

  return {
    advanceBootstrap: (operationId: number): Promise<BootstrapProgress> => step(operationId, false),

    /** For a new cluster: one of its members bootstraps. If that one dies before another has joined it, another may. */
    retryBootstrap: (operationId: number): Promise<BootstrapProgress> => step(operationId, true),
  };
};
export type BootstrapActivities = ReturnType<typeof createBootstrapActivities>;

type Round = {
  tx: Tx;
  context: ChangeContext;
  members: readonly BootstrapMember[];
  /** How often a member was permitted to bootstrap, and all were ordered to stay out of groups, or released. */
  rounds: { bootstraps: number; withdrawn: number; released: number };
  /** The desired state of all members; returns their hosts. */
  setDesired: (phase: string, orders?: OrdersOf, share?: Share) => Promise<number[]>;
};

const stayOut = ({ members, rounds, setDesired }: Round): Promise<number[]> =>
  setDesired(
    `withdraw ${rounds.withdrawn + 1}`,
    Object.fromEntries(members.map(({ node }) => [node, { stay_out: true }])),
  );

async function carryOut(
  round: Round,
  next: ReturnType<typeof nextOfBootstrap>,
  { acceptsLoss, at }: { acceptsLoss: boolean; at: Date },
): Promise<Taken<BootstrapProgress>> {
  const { tx, context, members, rounds, setDesired } = round;
  switch (next.do) {
    case "wait":
      return taken({ next: "wait" });
    case "bootstrap": {
      const { leftOut, refused } = await continueWith(tx, timelineOf(context), next.gtid, { acceptsLoss, at });
      if (refused) return taken({ next: "failed", why: texts.bootstrapBackupsAhead({ leftOut }).text });
      const phase = `bootstrap ${rounds.bootstraps + 1}`;
      const orders = { [next.node]: { bootstrap: orderId(context.operation.id, phase) } };
      return taken({ next: "wait" }, await setDesired(phase, orders, { upTo: 100 }));
    }
    case "withdraw":
      return taken({ next: "wait" }, await stayOut(round));
    case "release":
      return taken({ next: "wait" }, await setDesired(`release ${rounds.released + 1}`));
    case "done": {
      const haveOrders = members.some(({ bootstrap: order, staysOut }) => order !== undefined || staysOut);
      return taken({ next: "bootstrapped" }, haveOrders ? await setDesired("bootstrapped") : []);
    }
    case "fail":
      return taken({ next: "failed", why: next.why.text });
  }
}

export const bootstrap: Change = {
  kind: "bootstrapGroup",
  audited: "bootstrap_group",
  events: ["database_group_form"],
  late: texts.bootstrapLate,
  judge: withLoss,
  /** After the end no permission is left. */
  async end(tx, context, _settlement, at) {
    const { operation, database } = context;
    if (!isAsynchronous(database)) await markLossReported(tx, timelineOf(context), at);
    if (isOvertaken(operation.kind, database)) return database.deleted_at === null ? letJoin(tx, database) : undefined;
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

/** Also a bootstrap that fails reports a loss that was accepted: its archive has branched. */
async function withLoss(tx: Tx, context: ChangeContext, settlement: Settlement): Promise<Settlement> {
  if (isAsynchronous(context.database)) return settlement;
  const failure = settlement.done ? undefined : (settlement.message ?? texts.bootstrapLate());
  const message = await unreportedLoss(tx, timelineOf(context), failure);
  return message === undefined ? settlement : { ...settlement, message };
}

/**
 * As a part of another operation the bootstrap has that one's status; on its own it stops when another operation
 * starts.
 */
const isOvertaken = (kind: string, { status, deleted_at, powered }: DatabaseRow): boolean =>
  deleted_at !== null || !powered || (kind === "bootstrapGroup" && !isAtHand(status));

async function roundsOf(tx: Tx, operationId: number): Promise<Round["rounds"]> {
  const rows = await tx.selectFrom("desired_phases").select("phase").where("operation_id", "=", operationId).execute();
  const count = (prefix: string): number => rows.filter(({ phase }) => phase.startsWith(prefix)).length;
  return { bootstraps: count("bootstrap "), withdrawn: count("withdraw "), released: count("release ") };
}

async function bootstrapMembersOf(tx: Tx, nodes: readonly NodeRow[], now: Date): Promise<BootstrapMember[]> {
  const reports = await reportsOf(tx, nodes);
  const members: BootstrapMember[] = [];
  for (const node of nodes) {
    const host = await findHost(tx, node.host_id);
    const report = reports.get(node.id) ?? null;
    members.push({
      node: node.id,
      ordinal: node.ordinal,
      dead: host.state === "dead",
      state: node.observed_state,
      followed: isSeenByDesired(node, report) && host.state !== "dead" && (await areReachable(tx, [node.host_id], now)),
      report,
      bootstrap: node.desired_spec?.cluster?.bootstrap,
      staysOut: node.desired_spec?.cluster?.stay_out === true,
    });
  }
  return members;
}
