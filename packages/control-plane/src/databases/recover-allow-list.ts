import type { NodeSpec } from "@moorage/contract/agent";
import { emit, endEvent } from "#events/index.ts";
import { settleOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { sameSources } from "./allow-list.ts";
import { statusAfter } from "./database.ts";
import { type DatabaseRow, saveDatabase } from "./database-store.ts";
import { entityOf } from "./entity.ts";

/**
 * A host has a later spec of this database than our restored rows: its list counts. With ours, a source that the tenant
 * removed would be admitted again.
 */
export async function followUpdate(tx: Tx, database: DatabaseRow, later: NodeSpec, at: Date): Promise<DatabaseRow> {
  const { allow_list } = later.database;
  if (database.deleted_at !== null || sameSources(database.allow_list, allow_list)) return database;
  await endOpenUpdate(tx, database, at);
  const recovered = await saveDatabase(tx, database.account_id, database.id, {
    allow_list,
    status: statusAfter("update", database.status, { done: true }),
    updated_at: at,
  });
  await emit(tx, {
    accountId: database.account_id,
    username: null,
    action: "database_update",
    status: "finished",
    entity: entityOf(database),
    message: "Recovered after the control plane was restored from a backup: the allow list is the one on its host.",
    at,
  });
  return recovered;
}

async function endOpenUpdate(tx: Tx, database: DatabaseRow, at: Date): Promise<void> {
  const open = await tx
    .selectFrom("operations")
    .select(["id", "event_id"])
    .where("account_id", "=", database.account_id)
    .where("entity_id", "=", database.id)
    .where("kind", "=", "applyAllowList")
    .where("settled_at", "is", null)
    .execute();
  const message = "Ended by the recovery of the control plane: its host has a later allow list.";
  for (const { id, event_id } of open) {
    await settleOperation(tx, id, { outcome: "failed", message, at });
    if (event_id !== null) await endEvent(tx, { eventId: event_id, status: "failed", message, at });
  }
}
