import { allocateNodes, findNodes, setDesiredSpecs } from "#fleet/index.ts";
import type { Sealer } from "#platform/seal.ts";
import { type EngineVersion, findEngineVersion } from "#regions/index.ts";
import { createTimeline } from "../archive/create-timeline.ts";
import { type Change, type Engine, inOperation } from "../changes/change.ts";
import { saveDatabase } from "../model/database-store.ts";
import { initialStatus, isAsynchronous, isCluster, statusAfter } from "../model/database.ts";
import { meterDatabase } from "../model/usage.ts";
import { plannedPatch } from "../model/plan-patches.ts";
import { texts } from "../model/texts.ts";
import { liveOn } from "../model/timeline-store.ts";
import { createMembers } from "../spec/cluster-store.ts";
import { setDesiredFromRow, specsOf } from "../spec/desired-specs.ts";

export const createProvisionActivities = (engine: Engine & { sealer: Sealer }) => {
  const { clock, sealer, archive } = engine;
  return {
    /**
     * Places the database's nodes and sets their desired state, if needed in a group. "no room": no host can take them.
     */
    setDesiredNodes: (operationId: number): Promise<"requested" | "requested in a group" | "no room"> =>
      inOperation(engine, operationId, async (tx, context) => {
        const { operation, database, plan, engine: version, zone } = context;
        // The operation has ended meanwhile, perhaps by a deletion: a place reserved now would never be released.
        if (database.status !== initialStatus) return { answer: "no room" };
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
        if (nodes === undefined) return { answer: "no room" };
        const given = await createTimeline(
          tx,
          { sealer, archive, at: clock() },
          { operation, database, engine: version },
        );
        const orders = await createMembers(tx, { sealer, at: clock() }, given, nodes);
        const specs = await specsOf(tx, nodes, { ...given, plan, engine: version, zone, orders });
        const { hosts } = await setDesiredSpecs(tx, operation.id, "running", specs, { upTo: 100 });
        const inGroup = isCluster(database) && !isAsynchronous(database);
        return { answer: inGroup ? "requested in a group" : "requested", hosts };
      }),
  };
};
export type ProvisionActivities = ReturnType<typeof createProvisionActivities>;

export const provision: Change = {
  kind: "provisionDatabase",
  audited: "create_database",
  events: ["database_create"],
  late: texts.provisionLate,
  async end(tx, context, settlement, at) {
    const { account_id, id, status, timeline_id, engine_version } = context.database;
    const [node] = await findNodes(tx, account_id, id);
    if (settlement.done && timeline_id !== null) await liveOn(tx, timeline_id, at);
    const database = await saveDatabase(tx, account_id, id, {
      status: statusAfter("provision", status, settlement),
      port: node?.port ?? null,
      dns_published_at: settlement.dnsPublished === true ? at : null,
      // The engine may have received a newer image during provisioning.
      patch_due_at: plannedPatch(context.database, (await findEngineVersion(tx, engine_version)) as EngineVersion, at),
      updated_at: at,
    });
    // Withdraws the permission to bootstrap the group, whether it was used or not.
    const toWake = isCluster(database)
      ? await setDesiredFromRow(tx, context.operation.id, "without orders", { ...context, database })
      : undefined;
    await meterDatabase(tx, database, at);
    return toWake;
  },
};

export const fork: Change = { ...provision, kind: "forkDatabase", late: texts.forkLate };
