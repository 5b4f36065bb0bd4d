import type { NodeSpec } from "@moorage/contract/agent";
import { endEvent } from "#events/index.ts";
import { findNodes, reissueDesiredSpec } from "#fleet/index.ts";
import { releaseFromLimits } from "#identity/index.ts";
import { settleOperation } from "#operations/index.ts";
import { findPlan } from "#regions/index.ts";
import { type DatabaseRow, saveDatabase } from "../model/database-store.ts";
import { isCluster } from "../model/database.ts";
import { meterDatabase, usageOf } from "../model/usage.ts";
import { texts } from "../model/texts.ts";
import { stopDailyPoints } from "../model/timeline-store.ts";
import { purgeTime } from "../provision/delete-database.ts";
import { type Context, findSame, specOf } from "./recovery.ts";

/**
 * Deleted after our backup: the tenant was notified of the deletion, so it stays deleted. Repeatable, once for each
 * node.
 */
export async function followDeletion(context: Context, spec: NodeSpec): Promise<void> {
  const { tx, epoch, now, found } = context;
  const database = await findSame(tx, spec);
  if (database === undefined) return;
  const ended = await endOpenOperations(context, database);
  // A deletion that was settled, successfully or not, has released its limits already.
  if (database.deleted_at !== null && !ended.includes("deleteDatabase")) return;
  const deleted = await saveDatabase(tx, database.account_id, database.id, {
    deleted_at: database.deleted_at ?? now,
    purge_at: database.purge_at ?? purgeTime(now, context.undeleteDays),
    updated_at: now,
  });
  await stopDailyPoints(tx, database);
  await meterDatabase(tx, deleted, now);
  const plan = await findPlan(tx, database.plan);
  if (plan !== undefined) await releaseFromLimits(tx, database.account_id, usageOf(plan, database.cluster_size));
  found.deleted.push(`${database.label} (${database.id})`);
  // The hosts of a cluster's other members may not know of the deletion.
  if (!isCluster(database) || spec.tombstone === undefined) return;
  for (const node of await findNodes(tx, database.account_id, database.id))
    if (!node.tombstoned)
      await reissueDesiredSpec(
        tx,
        node,
        { ...(await specOf(context, node, deleted, spec)), tombstone: spec.tombstone },
        epoch,
      );
}

async function endOpenOperations({ tx, now }: Context, database: DatabaseRow): Promise<string[]> {
  const open = await tx
    .selectFrom("operations")
    .select(["id", "kind", "event_id"])
    .where("account_id", "=", database.account_id)
    .where("entity_id", "=", database.id)
    .where("settled_at", "is", null)
    .execute();
  for (const { id, kind, event_id } of open) {
    const done = kind === "deleteDatabase";
    const message = texts.endedByDeletion();
    await settleOperation(tx, id, { outcome: done ? "done" : "failed", message, at: now });
    if (event_id !== null)
      await endEvent(tx, { eventId: event_id, status: done ? "finished" : "failed", message, at: now });
  }
  return open.map(({ kind }) => kind);
}
