import { areHeard, findHost, findNodes, type NodeRow, type Share, want } from "#fleet/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { ActivityDeps } from "../../activities.ts";
import type { DatabaseRow } from "../../database-store.ts";
import { type Settlement, settle } from "../../settle.ts";
import { areThere, loadDatabase, specsOf, wakeHosts, wantAsRow } from "../../want-specs.ts";
import { goOnWith, leftOutSince } from "../../archive/part-archive.ts";
import { isAsynchronous, type OrdersOf } from "../cluster-spec.ts";
import { isAtHand } from "./cluster-health.ts";
import { type FormingMember, nextOfFollowing, nextOfForming } from "./forming.ts";
import { lookSoon } from "./look-store.ts";
import type { FormInput } from "./open-mending.ts";
import { orderId } from "./order-id.ts";
import { reportsOf } from "./report-store.ts";

/** What the workflow does next. */
export type Formed = { next: "wait" } | { next: "formed" } | { next: "failed"; why: string };

type Taken = { formed: Formed; hosts: number[] };
const taken = (formed: Formed, hosts: number[] = []): Taken => ({ formed, hosts });

/** The steps of forming a group; each is repeatable, and what comes next is decided from the rows each time. */
export const createFormActivities = ({ db, clock, zone, archive }: Omit<ActivityDeps, "sealer">) => {
  /** `isBegun`: somebody was permitted to begin already. It is left alone until its group is gone. */
  const takeStep = async (tx: Tx, operationId: number, isBegun: boolean): Promise<Taken> => {
    const context = await loadDatabase(tx, operationId, archive);
    const { database } = context;
    // Read again under the row's lock: what was settled meanwhile goes no further.
    const { settled_at, input, kind } = await findOperation(tx, operationId);
    const nodes = await findNodes(tx, database.account_id, database.id);
    const isWhole = areThere(nodes) && nodes.length === database.cluster_size;
    if (settled_at !== null || isOvertaken(kind, database) || !isWhole)
      return taken({ next: "failed", why: "it was asked for something else meanwhile." });

    const wantAll = async (phase: string, orders: OrdersOf = {}, share?: Share): Promise<number[]> =>
      (await want(tx, operationId, phase, await specsOf(tx, nodes, { ...context, zone, orders }), share)).hosts;
    if (isAsynchronous(database)) {
      const { do: next } = nextOfFollowing(await formingMembers(tx, nodes, clock()));
      return taken({ next: next === "done" ? "formed" : "wait" });
    }
    const rounds = await roundsOf(tx, operationId);
    const members = await formingMembers(tx, nodes, clock());
    const acceptsLoss = (input as FormInput).accept_loss === true;
    const next = nextOfForming(members, acceptsLoss);
    // First of all: whatever was permitted before is not any more, and its hosts have to say so.
    if (rounds.withdrawn === 0)
      return taken({ next: "wait" }, isBegun && next.do !== "withdraw" ? [] : await wantAll("withdraw 1"));

    switch (next.do) {
      case "wait":
        return taken({ next: "wait" });
      case "begin": {
        const { leftOut, refused } = await goOnWith(tx, timelineOf(context), next.gtid, { acceptsLoss, at: clock() });
        if (refused)
          return taken({
            next: "failed",
            why: `its backups have ${leftOut} transactions that none of them has. Ask the operator.`,
          });
        const phase = `begin ${rounds.begun + 1}`;
        const orders = { [next.node]: { begin: orderId(operationId, phase) } };
        return taken({ next: "wait" }, await wantAll(phase, orders, { upTo: 100 }));
      }
      case "withdraw":
        return taken({ next: "wait" }, await wantAll(`withdraw ${rounds.withdrawn + 1}`));
      case "done":
        return taken(
          { next: "formed" },
          members.some(({ begin }) => begin !== undefined) ? await wantAll("formed") : [],
        );
      case "fail":
        return taken({ next: "failed", why: next.why });
    }
  };

  const step = async (operationId: number, isBegun: boolean): Promise<Formed> => {
    const { formed, hosts } = await db.transaction().execute((tx) => takeStep(tx, operationId, isBegun));
    await wakeHosts(db, { hosts });
    return formed;
  };

  return {
    formOn: (operationId: number): Promise<Formed> => step(operationId, false),

    /** For a cluster that is made: one of its members begins; when that one dies before it was joined, another may. */
    formAgain: (operationId: number): Promise<Formed> => step(operationId, true),

    /** With its end no permission is out any more. */
    settleForming: async (operationId: number, settlement: Settlement): Promise<void> => {
      const wanted = await db.transaction().execute(async (tx) => {
        const context = await loadDatabase(tx, operationId, archive);
        const operation = await settle(tx, operationId, await withLoss(tx, context, settlement), clock());
        if (operation === undefined || isOvertaken(operation.kind, context.database)) return undefined;
        const without = await wantAsRow(tx, operationId, "without orders", { ...context, zone });
        await lookSoon(tx, context.database, clock());
        return without;
      });
      if (wanted !== undefined) await wakeHosts(db, wanted);
    },
  };
};
export type FormActivities = ReturnType<typeof createFormActivities>;

type Context = Awaited<ReturnType<typeof loadDatabase>>;

/** Its group has the name of it. */
function timelineOf({ past, database }: Context): string {
  if (past === undefined) throw new Error(`Database ${database.id} lives on no timeline.`);
  return past.timeline.id;
}

async function withLoss(tx: Tx, context: Context, settlement: Settlement): Promise<Settlement> {
  if (!settlement.done || isAsynchronous(context.database)) return settlement;
  const message = await leftOutSince(tx, timelineOf(context), context.operation.created_at);
  return message === undefined ? settlement : { ...settlement, message };
}

/** A part of another operation has that one's status; by itself it goes no further when something else was asked for. */
const isOvertaken = (kind: string, { status, deleted_at, powered }: DatabaseRow): boolean =>
  deleted_at !== null || !powered || (kind === "formGroup" && !isAtHand(status));

async function roundsOf(tx: Tx, operationId: number): Promise<{ begun: number; withdrawn: number }> {
  const rows = await tx.selectFrom("wanted_phases").select("phase").where("operation_id", "=", operationId).execute();
  const count = (prefix: string): number => rows.filter(({ phase }) => phase.startsWith(prefix)).length;
  return { begun: count("begin "), withdrawn: count("withdraw ") };
}

async function formingMembers(tx: Tx, nodes: readonly NodeRow[], now: Date): Promise<FormingMember[]> {
  const reports = await reportsOf(tx, nodes);
  const members: FormingMember[] = [];
  for (const node of nodes) {
    const host = await findHost(tx, node.host_id);
    const isCurrent = node.observed_epoch === node.wanted_epoch && node.observed_generation >= node.wanted_generation;
    members.push({
      ...{ node: node.id, ordinal: node.ordinal, dead: host.state === "dead", state: node.observed_state },
      followed: isCurrent && host.state !== "dead" && (await areHeard(tx, [node.host_id], now)),
      report: reports.get(node.id) ?? null,
      begin: node.wanted?.cluster?.begin,
    });
  }
  return members;
}
