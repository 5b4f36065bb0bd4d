import { patchMysqlDatabase } from "@moorage/contract";
import { emit } from "#events/index.ts";
import { findNodes } from "#fleet/index.ts";
import { requireCurrent } from "#operations/index.ts";
import { audit } from "#platform/db/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { findEngineVersion } from "#regions/index.ts";
import { defineChange } from "../changes/column-changes.ts";
import { unlike } from "../spec/own-version.ts";
import type { DatabaseChange, DatabaseRow } from "../model/database-store.ts";
import { entityOf, targetOf } from "../model/entity.ts";
import { texts } from "../model/texts.ts";

/**
 * Applies the engine's newest node image now. With none pending, the request is accepted and its event is finished at
 * once.
 */
export const patchDatabase = defineChange({
  kind: "patchDatabase",
  request: {
    operation: patchMysqlDatabase,
    columns: async ({ tx, before, by, at }) =>
      (await pendingPatch(tx, before)) ?? recordNothing(tx, before, by.username, at),
  },
  action: "patch",
  work: "patch",
  audited: "patch_database",
  events: ["database_update"],
  keeps: ["image"],
  rolls: true,
  pauses: true,
  failed: texts.patchFailed,
});

/** The columns of a database that is patched. Undefined: all nodes run the newest image of its version. */
export async function pendingPatch(tx: Tx, database: DatabaseRow): Promise<DatabaseChange | undefined> {
  const engine = await findEngineVersion(tx, database.engine_version);
  if (engine === undefined) return undefined;
  const nodes = await findNodes(tx, database.account_id, database.id);
  if (database.image === engine.image && unlike(database, engine, nodes) === 0) return undefined;
  return { image: engine.image, patch_due_at: null };
}

async function recordNothing(tx: Tx, database: DatabaseRow, username: string, at: Date): Promise<undefined> {
  const { account_id: account, id } = database;
  await requireCurrent(tx, id);
  await audit(tx, { at, account, actor: username, action: patchDatabase.audited, target: targetOf(id) });
  await emit(tx, {
    accountId: account,
    username,
    action: "database_update",
    status: "finished",
    entity: entityOf(database),
    at,
    message: texts.noPatchPending(),
    requested: true,
  });
}
