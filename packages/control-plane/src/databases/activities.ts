import { toTimestamp } from "@moorage/contract";
import { endEvent } from "#events/index.ts";
import {
  allocateNodes,
  findHost,
  findNodes,
  type NodeRow,
  releaseNodes,
  type UntimedSpec,
  type Wanted,
  want,
} from "#fleet/index.ts";
import { giveBackToLimits } from "#identity/index.ts";
import { findOperation, type OperationRow, settleOperation } from "#operations/index.ts";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { findEngineVersion, findPlan } from "#regions/index.ts";
import { usageOf } from "./create-database.ts";
import { initialStatus, statusAfterProvision, statusAfterUpdate } from "./database.ts";
import { type DatabaseRow, lockDatabase, saveDatabase } from "./database-store.ts";
import { targetOf } from "./entity.ts";
import { nodeSpec } from "./node-spec.ts";
import { previousAllowList } from "./update-database.ts";

/** `named`: the database's names lead to it now. */
export type Settlement = { done: boolean; message?: string; named?: boolean };

/** The steps of a database's workflows that touch our Postgres. Each is repeatable: it may have been done before. */
export const createDatabaseActivities = ({ db, clock, zone }: { db: Db; clock: Clock; zone: string }) => ({
  /** Gives the database its nodes and wants them running. "no room" when no host can take them. */
  wantNodes: async (operationId: number): Promise<"wanted" | "no room"> => {
    const wanted = await db.transaction().execute(async (tx) => {
      const { operation, database, plan, engine } = await loadDatabase(tx, operationId);
      // Ended meanwhile, perhaps deleted: nobody would give back a place that is taken now. Settling again does nothing.
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
      return want(tx, operation.id, "running", await specsOf(tx, nodes, { database, plan, engine, zone }));
    });
    if (wanted === undefined) return "no room";
    await wakeHosts(db, wanted);
    return "wanted";
  },

  settleProvision: (operationId: number, settlement: Settlement): Promise<void> =>
    db.transaction().execute(async (tx) => {
      const operation = await settle(tx, operationId, settlement, clock());
      if (operation === undefined) return;
      const database = await lockDatabase(tx, operation.account_id, operation.entity_id);
      const [node] = await findNodes(tx, database.account_id, database.id);
      await saveDatabase(tx, database.account_id, database.id, {
        status: statusAfterProvision(database.status, settlement.done),
        port: node?.port ?? null,
        named_at: settlement.named === true ? clock() : null,
        updated_at: clock(),
      });
    }),

  /** Wants the list that the row has now. "not there": its host has lost the database, or nobody waits any more. */
  wantAllowList: async (operationId: number): Promise<"wanted" | "not there"> => {
    const wanted = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId);
      // Asked again under the row's lock: a list that was given up meanwhile must not be wanted.
      const { settled_at } = await findOperation(tx, operationId);
      return settled_at === null ? wantList(tx, operationId, "allow-list", { ...context, zone }) : undefined;
    });
    if (wanted === undefined) return "not there";
    await wakeHosts(db, wanted);
    return "wanted";
  },

  /** Not done: the list before it is shown again, and wanted again, because a host may have gone half of the way. */
  settleUpdate: async (operationId: number, settlement: Settlement): Promise<void> => {
    const wanted = await db.transaction().execute(async (tx) => {
      const context = await loadDatabase(tx, operationId);
      const { account_id, id, status, allow_list } = context.database;
      const message = await messageOfUpdate(tx, context.database, settlement);
      const operation = await settle(tx, operationId, { done: settlement.done, message }, clock());
      if (operation === undefined) return undefined;
      const database = await saveDatabase(tx, account_id, id, {
        status: statusAfterUpdate(status),
        allow_list: settlement.done ? allow_list : previousAllowList(operation),
        updated_at: clock(),
      });
      if (settlement.done) return undefined;
      return wantList(tx, operationId, "previous allow-list", { ...context, database, zone });
    });
    if (wanted !== undefined) await wakeHosts(db, wanted);
  },

  /** The only way for a node to go. */
  wantTombstones: async (operationId: number): Promise<void> => {
    const wanted = await db.transaction().execute(async (tx) => {
      const { operation, database, plan, engine } = await loadDatabase(tx, operationId);
      const nodes = await findNodes(tx, database.account_id, database.id);
      const specs = await specsOf(tx, nodes, { database, plan, engine, zone });
      return want(
        tx,
        operation.id,
        "gone",
        specs.map((spec) => ({ ...spec, tombstone: { operation: operation.id } })),
      );
    });
    await wakeHosts(db, wanted);
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
      if (plan !== undefined) await giveBackToLimits(tx, database.account_id, usageOf(plan, database.cluster_size));
    }),
});
export type DatabaseActivities = ReturnType<typeof createDatabaseActivities>;

/** Ends a kind's operation whose workflow could not, when its deadline has passed. */
export const createDatabaseExpiry = ({ settleProvision, settleUpdate, settleDelete }: DatabaseActivities) => ({
  provisionDatabase: (operationId: number) =>
    settleProvision(operationId, {
      done: false,
      message: "The database could not be made ready in time. Delete it and try again.",
    }),
  updateDatabase: (operationId: number) => settleUpdate(operationId, { done: false }),
  deleteDatabase: (operationId: number) =>
    settleDelete(operationId, {
      done: false,
      message: "A host has not confirmed the deletion yet. It will be finished when the host is back.",
    }),
});

/** Hosts that confirm a deletion after its operation was given up: their room is free again too. */
export const createReleaseChore =
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

/** Operation, event and audit end together, once; undefined when they had ended before. */
async function settle(
  tx: Tx,
  operationId: number,
  settlement: Settlement,
  at: Date,
): Promise<OperationRow | undefined> {
  const message = settlement.message === undefined ? {} : { message: settlement.message };
  const operation = await settleOperation(tx, operationId, {
    outcome: settlement.done ? "done" : "failed",
    ...message,
    at,
  });
  if (operation === undefined) return undefined;
  if (operation.event_id !== null)
    await endEvent(tx, {
      eventId: operation.event_id,
      status: settlement.done ? "finished" : "failed",
      ...message,
      at,
    });
  await audit(tx, {
    at,
    account: operation.account_id,
    actor: "worker",
    action: `${operation.kind}.${settlement.done ? "done" : "failed"}`,
    target: targetOf(operation.entity_id),
    detail: { operation: operationId, ...message },
  });
  return operation;
}

async function loadDatabase(tx: Tx, operationId: number) {
  const operation = await findOperation(tx, operationId);
  const database = await lockDatabase(tx, operation.account_id, operation.entity_id);
  const [plan, engine] = [await findPlan(tx, database.plan), await findEngineVersion(tx, database.engine_version)];
  if (plan === undefined || engine === undefined)
    throw new Error(`Database ${database.id} names a plan or engine that does not exist.`);
  return { operation, database, plan, engine };
}

type SpecContext = { database: DatabaseRow; zone: string } & Pick<
  Awaited<ReturnType<typeof loadDatabase>>,
  "plan" | "engine"
>;

export async function specsOf(tx: Tx, nodes: readonly NodeRow[], context: SpecContext): Promise<UntimedSpec[]> {
  const specs: UntimedSpec[] = [];
  for (const node of nodes) {
    const host = await findHost(tx, node.host_id);
    specs.push(nodeSpec(node, { ...context, nodeNetwork: host.node_network }));
  }
  return specs;
}

/** Undefined where a spec would do harm: an empty node in the place of a lost one, or one back from its tombstone. */
async function wantList(tx: Tx, operationId: number, phase: string, context: SpecContext): Promise<Wanted | undefined> {
  const nodes = await findNodes(tx, context.database.account_id, context.database.id);
  if (nodes.length === 0 || nodes.some(({ wanted, tombstoned }) => wanted === null || tombstoned)) return undefined;
  return want(tx, operationId, phase, await specsOf(tx, nodes, context));
}

/** When the list was applied where, or why it was not. */
async function messageOfUpdate(tx: Tx, database: DatabaseRow, { done, message }: Settlement): Promise<string> {
  const nodes = await findNodes(tx, database.account_id, database.id);
  if (!done) {
    const said = message ?? nodes.find(({ observed_message }) => observed_message !== null)?.observed_message;
    return `The allow list could not be applied, and the one before it is kept: ${said ?? "a host did not confirm it in time."}`;
  }
  const places: string[] = [];
  for (const { host_id, observed_at } of nodes) {
    const { name } = await findHost(tx, host_id);
    places.push(observed_at === null ? name : `${name} at ${toTimestamp(observed_at)}`);
  }
  return `Applied on ${places.join(", ")}.`;
}

/** Only a hint: a host that misses it learns of the change with its next poll. */
const wakeHosts = async (db: Db, { hosts }: Wanted): Promise<void> => {
  for (const id of hosts) await notify(db, "host", String(id));
};
