import { chooseDonor } from "@moorage/contract/agent";
import {
  addMembers,
  allocateReplacement,
  checkSoon,
  findNodes,
  type HostsToWake,
  lockNodes,
  markReplaced,
  type NodeRow,
  raiseMembersVersion,
  setDesiredSpecs,
  unmarkReplaced,
} from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { type Change, type ChangeContext, type Engine, inOperation, type Taken } from "../../changes/change.ts";
import type { DatabaseRow } from "../../model/database-store.ts";
import { setDesiredFromRow, specsOf, tombstonesOf } from "../../spec/desired-specs.ts";
import { isReachable, type ObservedMember } from "../member-condition.ts";
import { texts } from "../texts.ts";
import { isAtHand, judgeCluster } from "./cluster-health.ts";
import { observeCluster, observeMembers } from "./observe-cluster.ts";
import { orderId } from "./order-id.ts";
import { wakeReplacements } from "./replacement-limits.ts";
import { isSeenByDesired } from "./seen-by-desired.ts";
import { whyStuck } from "./why-stuck.ts";

const PHASE = "replace";
/** The input of a replacement. */
export type ReplaceInput = { node: string; ordinal: number };

/** Why nothing was replaced. */
export type Unreplaced = "no room" | "not needed" | "overtaken";

/** Why it ends without its member. `again`: the health check opens the next one at once. */
type Stop = { why: string } | { again: true };

/** Each host that has room receives as many clones as it may: not now. */
const BUSY = "hosts are busy";

/** The steps of a replacement. Each is repeatable: it may have run before. */
export const createReplaceActivities = (engine: Engine & { hostSilentSeconds: number }) => {
  const { clock, hostSilentSeconds } = engine;
  const settings = { hostSilentSeconds };

  const place = async (tx: Tx, context: ChangeContext): Promise<Taken<"placed" | Unreplaced | typeof BUSY>> => {
    const { operation, database, isOpen } = context;
    if (await isRequested(tx, operation.id)) return { answer: "placed" };
    // Another operation that was requested meanwhile comes first.
    if (!isOpen || isOvertaken(database)) return { answer: "overtaken" };
    const { node } = operation.input as ReplaceInput;
    const cluster = await observeCluster(tx, database, { now: clock() });
    const { next } = judgeCluster({ ...cluster, busy: false, failedSeconds: {} }, settings);
    if (next.do !== "replace" || next.node !== node) return { answer: "not needed" };
    const nodes = await lockNodes(
      tx,
      (await findNodes(tx, database.account_id, database.id)).map(({ id }) => id),
    );
    const old = nodes.find(({ id }) => id === node) as NodeRow;
    const fresh = await replacementOf(tx, context, old);
    if (fresh === BUSY) return { answer: BUSY };
    const isThere = cluster.members.some((member) => member.node === node && isReachable(member.host));
    const recloned = fresh ?? (isThere ? old : undefined);
    if (recloned === undefined) return { answer: "no room" };
    const orders = {
      [recloned.id]: { reclone: { id: orderId(operation.id, PHASE), ...donorOf(cluster.members, node) } },
    };
    // The others learn the new member; for a member that is recloned in place nothing changes for them. Dead hosts are
    // not waited for: their members are replaced next.
    const dead = cluster.members.filter(({ host }) => host.dead).map((member) => member.node);
    const others = nodes.filter(({ id }) => id !== node && !dead.includes(id));
    const targets = fresh === undefined ? [old] : [...others, fresh];
    const specs = await specsOf(tx, targets, { ...context, orders });
    const { hosts } = await setDesiredSpecs(tx, operation.id, PHASE, specs, { upTo: 100 });
    // In this transaction: no list of the database's nodes has a replaced one, so nobody would find it later.
    const removed = fresh === undefined ? { hosts: [] } : await tombstone(tx, context, old);
    return { answer: "placed", hosts: [...hosts, ...removed.hosts] };
  };

  /** A node on another host, which counts instead of the old one from now on. Undefined: there is no room. */
  const replacementOf = async (
    tx: Tx,
    { database, plan }: ChangeContext,
    old: NodeRow,
  ): Promise<NodeRow | typeof BUSY | undefined> => {
    await markReplaced(tx, old.id, clock());
    const fresh = await allocateReplacement(
      tx,
      {
        accountId: database.account_id,
        databaseId: database.id,
        region: database.region,
        ordinal: old.ordinal,
        port: old.port,
        memory_mb: plan.memory_mb,
        disk_mb: plan.disk_mb,
      },
      clock(),
    );
    if (fresh === undefined || fresh === BUSY) {
      await unmarkReplaced(tx, old.id);
      return fresh;
    }
    await addMembers(tx, database, [fresh]);
    await raiseMembersVersion(tx, database);
    return fresh;
  };

  return {
    placeReplacement: (operationId: number): Promise<"placed" | Unreplaced | typeof BUSY> =>
      inOperation(engine, operationId, place),

    /** Only for replacements that an older worker has placed: `placeReplacement` has done it for all others. */
    tombstoneReplaced: (operationId: number): Promise<void> =>
      inOperation(engine, operationId, async (tx, context) => {
        const replaced = await findReplaced(tx, (context.operation.input as ReplaceInput).node);
        return { answer: undefined, ...(replaced === undefined ? {} : await tombstone(tx, context, replaced)) };
      }),

    whyStuck: (operationId: number): Promise<Stop | undefined> =>
      inOperation(engine, operationId, async (tx, { database, operation }): Promise<Taken<Stop | undefined>> => {
        if (isOvertaken(database)) return { answer: { why: texts.operationOvertaken().text } };
        const members = await observeMembers(tx, database, { now: clock() });
        const { ordinal } = operation.input as ReplaceInput;
        const own = (await findNodes(tx, database.account_id, database.id)).find((node) => node.ordinal === ordinal);
        const report = members.find((member) => member.ordinal === ordinal)?.report ?? null;
        const isSeen = own !== undefined && isSeenByDesired(own, report);
        const stuck = whyStuck(members, { ordinal, isSeen }, settings);
        if (stuck === "diverged") return { answer: { again: true } };
        return { answer: stuck && { why: texts.replacementWithoutDonor().text } };
      }),
  };
};

export const replacement: Change = {
  kind: "replaceNode",
  audited: "replace_node",
  events: ["database_node_replace"],
  late: texts.replacementLate,
  /** A failed replacement stays desired: late data are better than none. The health check finds what is missing. */
  async end(tx, context, settlement, at) {
    const { operation, database } = context;
    await wakeReplacements(tx, database);
    if (isOvertaken(database)) return undefined;
    const without = settlement.done ? await setDesiredFromRow(tx, operation.id, "without orders", context) : undefined;
    await checkSoon(tx, database, at);
    return without;
  },
};

/** The old node's room stays reserved until its host confirms the removal, however long that host is away. */
async function tombstone(tx: Tx, context: ChangeContext, replaced: NodeRow): Promise<HostsToWake> {
  return setDesiredSpecs(tx, context.operation.id, "tombstone", await tombstonesOf(tx, [replaced], context));
}

const isRequested = async (tx: Tx, operationId: number): Promise<boolean> => {
  const row = await tx
    .selectFrom("desired_phases")
    .select("phase")
    .where("operation_id", "=", operationId)
    .where("phase", "=", PHASE)
    .executeTakeFirst();
  return row !== undefined;
};

/** Deleted, or under another operation, which needs another state of its nodes. */
const isOvertaken = ({ status, deleted_at }: DatabaseRow): boolean => deleted_at !== null || !isAtHand(status);

function donorOf(members: readonly ObservedMember[], node: string): { donor?: string } {
  const others = members.filter((member) => member.node !== node && isReachable(member.host));
  const online = others.filter(({ report }) => report?.state === "online");
  const donor = chooseDonor(online.map((member) => ({ node: member.node, role: member.report?.role })));
  return donor === undefined ? {} : { donor };
}

/** Undefined: the node was recloned in place. */
const findReplaced = (tx: Tx, id: string): Promise<NodeRow | undefined> =>
  tx
    .selectFrom("nodes")
    .selectAll()
    .where("id", "=", id)
    .where("replaced_at", "is not", null)
    .where("released_at", "is", null)
    .executeTakeFirst();
