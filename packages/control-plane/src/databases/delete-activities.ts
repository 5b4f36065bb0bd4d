import { findNodes, releaseNodes, setDesiredSpecs } from "#fleet/index.ts";
import { releaseFromLimits } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { Change } from "./changes/change.ts";
import { type Engine, inOperation } from "./changes/in-operation.ts";
import { usageOf } from "./usage.ts";
import { specsOf } from "./desired-specs.ts";
import { texts } from "./texts.ts";

export const createDeleteActivities = (engine: Engine) => ({
  /** A tombstone is the only way to remove a node. */
  setTombstones: (operationId: number): Promise<void> =>
    inOperation(engine, operationId, async (tx, context) => {
      const nodes = await findNodes(tx, context.database.account_id, context.database.id);
      const specs = await specsOf(tx, nodes, context);
      const tombstones = specs.map((spec) => ({ ...spec, tombstone: { operation: operationId } }));
      return { answer: undefined, ...(await setDesiredSpecs(tx, operationId, "gone", tombstones, { upTo: 100 })) };
    }),
});
export type DeleteActivities = ReturnType<typeof createDeleteActivities>;

export const deletion: Change = {
  kind: "deleteDatabase",
  audited: "delete_database",
  events: ["database_delete"],
  late: texts.deletionUnconfirmed,
  async end(tx, { database, plan }, _settlement, at) {
    const { account_id, id, cluster_size } = database;
    const nodes = await findNodes(tx, account_id, id);
    await releaseNodes(
      tx,
      nodes.map((node) => node.id),
      at,
    );
    await releaseFromLimits(tx, account_id, usageOf(plan, cluster_size));
    return undefined;
  },
};

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
