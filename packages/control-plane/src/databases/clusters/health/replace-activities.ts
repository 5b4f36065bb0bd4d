import {
  allocateReplacement,
  findNodes,
  lockNodes,
  type NodeRow,
  type HostsToWake,
  setDesiredSpecs,
} from "#fleet/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { ActivityDeps } from "../../activities.ts";
import type { DatabaseRow } from "../../database-store.ts";
import { type Settlement, settle } from "../../settle.ts";
import { loadDatabase, specsOf, wakeHosts, setDesiredFromRow } from "../../desired-specs.ts";
import { addMembers, markReplaced } from "../cluster-store.ts";
import { isAtHand, judgeCluster } from "./cluster-health.ts";
import { isReachable } from "./member-condition.ts";
import { donorOf, hasStopped } from "./donor.ts";
import { checkSoon } from "./check-store.ts";
import type { ReplaceInput } from "./open-repair.ts";
import { orderId } from "./order-id.ts";
import { observeCluster, observeMembers } from "./observe-cluster.ts";

/** Why nothing was replaced. */
export type Unreplaced = "no room" | "not needed" | "overtaken";
type Context = Awaited<ReturnType<typeof loadDatabase>>;

const PHASE = "replace";

/** The steps of a replacement. Each is repeatable: it may have run before. */
export const createReplaceActivities = ({
  db,
  clock,
  zone,
  archive,
  hostSilentSeconds,
}: Omit<ActivityDeps, "sealer"> & { hostSilentSeconds: number }) => {
  const settings = { hostSilentSeconds };

  const place = async (tx: Tx, operationId: number): Promise<HostsToWake | Unreplaced> => {
    const context = await loadDatabase(tx, operationId, archive);
    const { database } = context;
    if (await isRequested(tx, operationId)) return { hosts: [] };
    // Read again under the row's lock: another operation that was requested meanwhile comes first.
    const { settled_at, input } = await findOperation(tx, operationId);
    if (settled_at !== null || isOvertaken(database)) return "overtaken";
    const { node } = input as ReplaceInput;
    const cluster = await observeCluster(tx, database, { now: clock() });
    const { next } = judgeCluster({ ...cluster, busy: false, failedSeconds: {} }, settings);
    if (next.do !== "replace" || next.node !== node) return "not needed";
    const nodes = await lockNodes(
      tx,
      (await findNodes(tx, database.account_id, database.id)).map(({ id }) => id),
    );
    const old = nodes.find(({ id }) => id === node) as NodeRow;
    const fresh = await replacementOf(tx, context, old);
    const isThere = cluster.members.some((member) => member.node === node && isReachable(member.host));
    const recloned = fresh ?? (isThere ? old : undefined);
    if (recloned === undefined) return "no room";
    const orders = {
      [recloned.id]: { reclone: { id: orderId(operationId, PHASE), ...donorOf(cluster.members, node) } },
    };
    // The others learn the new member; for a member that is recloned in place nothing changes for them. Dead hosts are
    // not waited for: their members are replaced next.
    const dead = cluster.members.filter(({ host }) => host.dead).map((member) => member.node);
    const others = nodes.filter(({ id }) => id !== node && !dead.includes(id));
    const targets = fresh === undefined ? [old] : [...others, fresh];
    return setDesiredSpecs(tx, operationId, PHASE, await specsOf(tx, targets, { ...context, zone, orders }), {
      upTo: 100,
    });
  };

  /** A node on another host, which counts instead of the old one from now on. Undefined: there is no room. */
  const replacementOf = async (tx: Tx, { database, plan }: Context, old: NodeRow): Promise<NodeRow | undefined> => {
    await markReplaced(tx, old.id, clock());
    const fresh = await allocateReplacement(
      tx,
      {
        ...{ accountId: database.account_id, databaseId: database.id, region: database.region },
        ...{ ordinal: old.ordinal, port: old.port, memory_mb: plan.memory_mb, disk_mb: plan.disk_mb },
      },
      clock(),
    );
    if (fresh !== undefined) await addMembers(tx, database, [fresh]);
    else await tx.updateTable("members").set({ replaced_at: null }).where("node_id", "=", old.id).execute();
    return fresh;
  };

  return {
    placeReplacement: async (operationId: number): Promise<"placed" | Unreplaced> => {
      const outcome = await db.transaction().execute((tx) => place(tx, operationId));
      if (typeof outcome === "string") return outcome;
      await wakeHosts(db, outcome);
      return "placed";
    },

    /** The old node's room stays reserved until its host confirms the removal, however long that host is away. */
    tombstoneReplaced: async (operationId: number): Promise<void> => {
      const toWake = await db.transaction().execute(async (tx) => {
        const context = await loadDatabase(tx, operationId, archive);
        const { node } = context.operation.input as ReplaceInput;
        const replaced = await findReplaced(tx, node);
        if (replaced === undefined) return { hosts: [] };
        const specs = await specsOf(tx, [replaced], { ...context, zone });
        return setDesiredSpecs(
          tx,
          operationId,
          "tombstone",
          specs.map((spec) => ({ ...spec, tombstone: { operation: operationId } })),
        );
      });
      await wakeHosts(db, toWake);
    },

    /** No donor has been available for longer than a failover lasts: the group has to be bootstrapped first. */
    whyStuck: (operationId: number): Promise<string | undefined> =>
      db.transaction().execute(async (tx) => {
        const { database, operation } = await loadDatabase(tx, operationId, archive);
        if (isOvertaken(database)) return "the database was asked for something else meanwhile.";
        const members = await observeMembers(tx, database, { now: clock() });
        const others = members.filter(({ ordinal }) => ordinal !== (operation.input as ReplaceInput).ordinal);
        return others.every((member) => hasStopped(member, settings)) ? "the other nodes have stopped." : undefined;
      }),

    /** A failed replacement stays desired: late data are better than none. The health check finds what is missing. */
    settleReplacing: async (operationId: number, settlement: Settlement): Promise<void> => {
      const toWake = await db.transaction().execute(async (tx) => {
        const context = await loadDatabase(tx, operationId, archive);
        const operation = await settle(tx, operationId, settlement, clock());
        if (operation === undefined || isOvertaken(context.database)) return undefined;
        const without = settlement.done
          ? await setDesiredFromRow(tx, operationId, "without orders", { ...context, zone })
          : undefined;
        await checkSoon(tx, context.database, clock());
        return without;
      });
      if (toWake !== undefined) await wakeHosts(db, toWake);
    },
  };
};
export type ReplaceActivities = ReturnType<typeof createReplaceActivities>;

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
