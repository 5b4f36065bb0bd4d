import { emit } from "#events/index.ts";
import { findNodes } from "#fleet/index.ts";
import type { Principal } from "#identity/index.ts";
import { requireCurrent } from "#operations/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { findEngineVersion } from "#regions/index.ts";
import { type ChangeDeps, changeDatabase } from "./changes/change-database.ts";
import { columnChanges } from "./changes/column-changes.ts";
import { unlike } from "./clusters/rolling/own-version.ts";
import type { DatabaseChange, DatabaseRow } from "./database-store.ts";
import { entityOf, targetOf } from "./entity.ts";
import { texts } from "./texts.ts";

/**
 * Applies the engine's newest node image now. With none pending, the request is accepted and its event is finished at
 * once.
 */
export const patchDatabase = (deps: ChangeDeps, by: Principal, id: number, idempotency: Idempotency): Promise<void> =>
  changeDatabase(
    deps,
    { kind: "patchDatabase", step: "api.patchMysqlDatabase", by, id, idempotency },
    async (tx, before) => (await pendingPatch(tx, before)) ?? recordNothing(tx, before, by.username, deps.clock()),
  );

/** The columns of a database that is patched. Undefined: all nodes run the newest image of its version. */
export async function pendingPatch(tx: Tx, database: DatabaseRow): Promise<DatabaseChange | undefined> {
  const engine = await findEngineVersion(tx, database.engine_version);
  if (engine === undefined) return undefined;
  const nodes = await findNodes(tx, database.account_id, database.id);
  if (database.image === engine.image && unlike(database, engine, nodes) === 0) return undefined;
  return { image: engine.image, patch_due_at: null };
}

async function recordNothing(tx: Tx, database: DatabaseRow, username: string, at: Date): Promise<undefined> {
  await requireCurrent(tx);
  const { account_id: account, id } = database;
  await audit(tx, { at, account, actor: username, action: columnChanges.patchDatabase.audited, target: targetOf(id) });
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
