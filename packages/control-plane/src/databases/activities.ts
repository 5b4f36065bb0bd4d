import { toTimestamp } from "@moorage/contract";
import { allocateNodes, findNodes, releaseNodes, setDesiredSpecs } from "#fleet/index.ts";
import { releaseFromLimits } from "#identity/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { type EngineVersion, findEngineVersion, findPlan } from "#regions/index.ts";
import { isAsynchronous, isCluster } from "./clusters/cluster-spec.ts";
import { createMembers } from "./clusters/create-members.ts";
import { usageOf } from "./create-database.ts";
import { initialStatus, statusAfter } from "./database.ts";
import { type DatabaseRow, lockDatabase, saveDatabase } from "./database-store.ts";
import { meterDatabase } from "./meter-database.ts";
import type { ArchiveSettings } from "./node-spec.ts";
import { plannedPatch } from "./plan-patches.ts";
import { reportedBy } from "./reported-by.ts";
import { type Settlement, settle } from "./settle.ts";
import { liveOn } from "./timeline-store.ts";
import { createTimeline } from "./timelines/create-timeline.ts";
import { previousAllowList } from "./update-database.ts";
import { loadDatabase, specsOf, wakeHosts, setDesiredFromRow } from "./desired-specs.ts";

/** The workflow steps that use only PostgreSQL. Each is repeatable: it may have run before. */
export type ActivityDeps = { db: Db; clock: Clock; zone: string; sealer: Sealer; archive: ArchiveSettings };

export const createDatabaseActivities = ({ db, clock, zone, sealer, archive }: ActivityDeps) => ({
  /**
   * Places the database's nodes and sets their desired state, if needed in a group. "no room": no host can take them.
   */
  setDesiredNodes: async (operationId: number): Promise<"requested" | "requested in a group" | "no room"> => {
    const toWake = await db.transaction().execute(async (tx) => {
      const { operation, database, plan, engine } = await loadDatabase(tx, operationId, archive);
      // The operation has ended meanwhile, perhaps by a deletion: a place reserved now would never be released.
      if (database.status !== initialStatus) return undefined;
      const nodes = await allocateNodes(
        tx,
        {
          accountId: database.account_id,
          databaseId: database.id,
          region: database.region,
          count: database.cluster_size,
          memory_mb: plan.memory_mb,
          disk_mb: plan.disk_mb,
        },
        clock(),
      );
      if (nodes === undefined) return undefined;
      const given = await createTimeline(tx, { sealer, archive, at: clock() }, { operation, database, engine });
      const orders = await createMembers(tx, { sealer, at: clock() }, given, nodes);
      const specs = await specsOf(tx, nodes, { ...given, plan, engine, zone, orders });
      const { hosts } = await setDesiredSpecs(tx, operation.id, "running", specs, { upTo: 100 });
      return { hosts, inGroup: isCluster(database) && !isAsynchronous(database) };
    });
    if (toWake === undefined) return "no room";
    await wakeHosts(db, toWake);
    return toWake.inGroup ? "requested in a group" : "requested";
  },

  settleProvision: async (operationId: number, settlement: Settlement): Promise<void> => {
    const toWake = await db.transaction().execute(async (tx) => {
      const operation = await settle(tx, operationId, settlement, clock());
      if (operation === undefined) return undefined;
      const database = await lockDatabase(tx, operation.account_id, operation.entity_id);
      const [node] = await findNodes(tx, database.account_id, database.id);
      if (settlement.done && database.timeline_id !== null) await liveOn(tx, database.timeline_id, clock());
      const settled = await saveDatabase(tx, database.account_id, database.id, {
        status: statusAfter("provision", database.status, settlement),
        port: node?.port ?? null,
        dns_published_at: settlement.dnsPublished === true ? clock() : null,
        // The engine may have received a newer image during provisioning.
        patch_due_at: plannedPatch(
          database,
          (await findEngineVersion(tx, database.engine_version)) as EngineVersion,
          clock(),
        ),
        updated_at: clock(),
      });
      // Withdraws the permission to bootstrap the group, whether it was used or not.
      const without = isCluster(settled)
        ? await setDesiredFromRow(tx, operationId, "without orders", {
            ...(await loadDatabase(tx, operationId, archive)),
            zone,
          })
        : undefined;
      await meterDatabase(tx, settled, clock());
      return without;
    });
    if (toWake !== undefined) await wakeHosts(db, toWake);
  },

  /**
   * Requests the allow list of the row from the hosts. "not there": a host has lost the database, or the operation has
   * ended.
   */
  setDesiredAllowList: async (operationId: number): Promise<"requested" | "not there"> => {
    const toWake = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId, archive);
      // Read again under the row's lock: a list that was given up meanwhile must not become the desired one.
      const { settled_at } = await findOperation(tx, operationId);
      return settled_at === null
        ? setDesiredFromRow(tx, operationId, "allow-list", { ...context, zone }, { upTo: 100 })
        : undefined;
    });
    if (toWake === undefined) return "not there";
    await wakeHosts(db, toWake);
    return "requested";
  },

  /** On failure the previous list is shown and requested again, because a host may have applied half of the change. */
  settleUpdate: async (operationId: number, settlement: Settlement): Promise<void> => {
    const toWake = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId, archive);
      const { account_id, id, status, allow_list } = context.database;
      const message = await messageOfUpdate(tx, context.database, settlement);
      const operation = await settle(tx, operationId, { done: settlement.done, message }, clock());
      if (operation === undefined) return undefined;
      const database = await saveDatabase(tx, account_id, id, {
        status: statusAfter("update", status, settlement),
        allow_list: settlement.done ? allow_list : previousAllowList(operation),
        updated_at: clock(),
      });
      if (settlement.done) return undefined;
      return setDesiredFromRow(tx, operationId, "previous allow-list", { ...context, database, zone });
    });
    if (toWake !== undefined) await wakeHosts(db, toWake);
  },

  /** A tombstone is the only way to remove a node. */
  setTombstones: async (operationId: number): Promise<void> => {
    const toWake = await db.transaction().execute(async (tx) => {
      const { operation, database, plan, engine, archiveContext } = await loadDatabase(tx, operationId, archive);
      const nodes = await findNodes(tx, database.account_id, database.id);
      const specs = await specsOf(tx, nodes, { database, plan, engine, zone, archiveContext });
      return setDesiredSpecs(
        tx,
        operation.id,
        "gone",
        specs.map((spec) => ({ ...spec, tombstone: { operation: operation.id } })),
        { upTo: 100 },
      );
    });
    await wakeHosts(db, toWake);
  },

  settleDelete: (operationId: number, settlement: Settlement): Promise<void> =>
    db.transaction().execute(async (tx) => {
      const operation = await settle(tx, operationId, settlement, clock());
      if (operation === undefined) return;
      const database = await lockDatabase(tx, operation.account_id, operation.entity_id);
      const nodes = await findNodes(tx, database.account_id, database.id);
      await releaseNodes(
        tx,
        nodes.map(({ id }) => id),
        clock(),
      );
      const plan = await findPlan(tx, database.plan);
      if (plan !== undefined) await releaseFromLimits(tx, database.account_id, usageOf(plan, database.cluster_size));
    }),
});
export type DatabaseActivities = ReturnType<typeof createDatabaseActivities>;

/** Ends an operation after its deadline if its workflow could not. */
export const createDatabaseExpiry = ({ settleProvision, settleUpdate, settleDelete }: DatabaseActivities) => ({
  provisionDatabase: (operationId: number) =>
    settleProvision(operationId, {
      done: false,
      message: "The database could not be made ready in time. Delete it and try again.",
    }),
  forkDatabase: (operationId: number) =>
    settleProvision(operationId, {
      done: false,
      message: "The data of its source could not be made ready in time. Delete it and try again.",
    }),
  applyAllowList: (operationId: number) => settleUpdate(operationId, { done: false }),
  deleteDatabase: (operationId: number) =>
    settleDelete(operationId, {
      done: false,
      message: "A host has not confirmed the deletion yet. It will be finished when the host is back.",
    }),
});

/** Releases the room of nodes whose hosts confirm the deletion after its operation was given up. */
export const createReleaseJob =
  ({ db, clock }: { db: Db; clock: Clock }) =>
  async (): Promise<void> => {
    const gone = await db
      .selectFrom("nodes")
      .leftJoin("operations", "operations.id", "nodes.waiting_operation_id")
      .select("nodes.id")
      .where("nodes.tombstoned", "=", true)
      .where("nodes.observed_state", "=", "gone")
      .where("nodes.released_at", "is", null)
      .where((is) => is.or([is("operations.id", "is", null), is("operations.settled_at", "is not", null)]))
      .limit(100)
      .execute();
    await db.transaction().execute((tx) =>
      releaseNodes(
        tx,
        gone.map(({ id }) => id),
        clock(),
      ),
    );
  };

/** When the list was in force on all hosts, or why it is not. */
async function messageOfUpdate(tx: Tx, database: DatabaseRow, { done, message }: Settlement): Promise<string> {
  const nodes = await findNodes(tx, database.account_id, database.id);
  if (!done) {
    const reason = message ?? reportedBy(nodes) ?? "a host did not confirm it in time.";
    return `The allow list could not be applied, and the one before it is kept: ${reason}`;
  }
  const times = nodes.flatMap(({ observed_at }) => (observed_at === null ? [] : [observed_at.getTime()]));
  return times.length === 0 ? "Applied." : `Applied on every node at ${toTimestamp(new Date(Math.max(...times)))}.`;
}
