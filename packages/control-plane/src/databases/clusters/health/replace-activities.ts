import { allocateReplacement, findNodes, lockNodes, type NodeRow, setDesiredSpecs } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../database-store.ts";
import type { Change } from "../../changes/change.ts";
import { type ChangeContext, type Engine, inOperation, type Taken } from "../../changes/in-operation.ts";
import { setDesiredFromRow, specsOf } from "../../desired-specs.ts";
import { addMembers, markReplaced } from "../cluster-store.ts";
import { texts } from "../texts.ts";
import { isAtHand, judgeCluster } from "./cluster-health.ts";
import { isReachable } from "./member-condition.ts";
import { donorOf, hasStopped } from "./donor.ts";
import { checkSoon } from "./check-store.ts";
import { orderId } from "./order-id.ts";
import { observeCluster, observeMembers } from "./observe-cluster.ts";

/** The input of a replacement. */
export type ReplaceInput = { node: string; ordinal: number };

/** Why nothing was replaced. */
export type Unreplaced = "no room" | "not needed" | "overtaken";

const PHASE = "replace";

/** The steps of a replacement. Each is repeatable: it may have run before. */
export const createReplaceActivities = (engine: Engine & { hostSilentSeconds: number }) => {
  const { clock, hostSilentSeconds } = engine;
  const settings = { hostSilentSeconds };

  const place = async (tx: Tx, context: ChangeContext): Promise<Taken<"placed" | Unreplaced>> => {
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
    return { answer: "placed", hosts };
  };

  /** A node on another host, which counts instead of the old one from now on. Undefined: there is no room. */
  const replacementOf = async (
    tx: Tx,
    { database, plan }: ChangeContext,
    old: NodeRow,
  ): Promise<NodeRow | undefined> => {
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
    if (fresh !== undefined) await addMembers(tx, database, [fresh]);
    else await tx.updateTable("members").set({ replaced_at: null }).where("node_id", "=", old.id).execute();
    return fresh;
  };

  return {
    placeReplacement: (operationId: number): Promise<"placed" | Unreplaced> => inOperation(engine, operationId, place),

    /** The old node's room stays reserved until its host confirms the removal, however long that host is away. */
    tombstoneReplaced: (operationId: number): Promise<void> =>
      inOperation(engine, operationId, async (tx, context) => {
        const replaced = await findReplaced(tx, (context.operation.input as ReplaceInput).node);
        if (replaced === undefined) return { answer: undefined };
        const specs = await specsOf(tx, [replaced], context);
        const tombstones = specs.map((spec) => ({ ...spec, tombstone: { operation: operationId } }));
        return { answer: undefined, ...(await setDesiredSpecs(tx, operationId, "tombstone", tombstones)) };
      }),

    /** No donor has been available for longer than a failover lasts: the group has to be bootstrapped first. */
    whyStuck: (operationId: number): Promise<string | undefined> =>
      inOperation(engine, operationId, async (tx, { database, operation }) => {
        if (isOvertaken(database)) return { answer: texts.operationOvertaken().text };
        const members = await observeMembers(tx, database, { now: clock() });
        const others = members.filter(({ ordinal }) => ordinal !== (operation.input as ReplaceInput).ordinal);
        const isStuck = others.every((member) => hasStopped(member, settings));
        return { answer: isStuck ? texts.replacementWithoutDonor().text : undefined };
      }),
  };
};
export type ReplaceActivities = ReturnType<typeof createReplaceActivities>;

export const replacement: Change = {
  kind: "replaceNode",
  audited: "replace_node",
  events: ["database_node_replace"],
  late: texts.replacementLate,
  /** A failed replacement stays desired: late data are better than none. The health check finds what is missing. */
  async end(tx, context, settlement, at) {
    const { operation, database } = context;
    if (isOvertaken(database)) return undefined;
    const without = settlement.done ? await setDesiredFromRow(tx, operation.id, "without orders", context) : undefined;
    await checkSoon(tx, database, at);
    return without;
  },
};

/** Deleted, or under another operation, which needs another state of its nodes. */
const isOvertaken = ({ status, deleted_at }: DatabaseRow): boolean => deleted_at !== null || !isAtHand(status);

const isRequested = async (tx: Tx, operationId: number): Promise<boolean> => {
  const row = await tx
    .selectFrom("desired_phases")
    .select("phase")
    .where("operation_id", "=", operationId)
    .where("phase", "=", PHASE)
    .executeTakeFirst();
  return row !== undefined;
};

/** Undefined: the node was recloned in place. */
const findReplaced = (tx: Tx, id: string): Promise<NodeRow | undefined> =>
  tx
    .selectFrom("nodes")
    .selectAll("nodes")
    .innerJoin("members", "members.node_id", "nodes.id")
    .where("nodes.id", "=", id)
    .where("members.replaced_at", "is not", null)
    .where("nodes.released_at", "is", null)
    .executeTakeFirst();
