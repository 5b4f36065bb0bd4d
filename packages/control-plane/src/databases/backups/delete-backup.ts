import { emit } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import { requireCurrent } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import { type Db, transact } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import { lockDatabase } from "../model/database-store.ts";
import { requireActionAllowed } from "../model/database.ts";
import { entityOf, targetOf } from "../model/entity.ts";
import { deleteBackups, findBackup } from "./backup-store.ts";
import { applyRetention, type RetentionSettings } from "./apply-retention.ts";
import { texts } from "./texts.ts";

export type DeleteBackupDeps = { db: Db; clock: Clock } & RetentionSettings;

/**
 * Takes effect with this transaction. Its copy and logs go too, unless another backup or the restore window needs them.
 */
export async function deleteBackup(
  deps: DeleteBackupDeps,
  by: Principal,
  databaseId: number,
  backupId: number,
): Promise<void> {
  const { db, clock } = deps;
  const owner = { accountId: by.accountId, databaseId };
  await transact(db, "api.deleteMysqlBackup", async (tx) => {
    const now = clock();
    const database = await lockDatabase(tx, by.accountId, databaseId);
    if (database.deleted_at !== null) throw notFound();
    const backup = await findBackup(tx, owner, backupId);
    requireActionAllowed("delete a backup of", database.status);
    await requireCurrent(tx, databaseId);

    await deleteBackups(tx, owner, [backupId]);
    await applyRetention(tx, owner, deps, now);
    await audit(tx, {
      at: now,
      account: by.accountId,
      actor: by.username,
      action: "delete_backup",
      target: targetOf(databaseId),
      detail: { backup: backupId, label: backup.label },
    });
    await emit(tx, {
      accountId: by.accountId,
      username: by.username,
      action: "database_backup_delete",
      status: "finished",
      entity: entityOf(database),
      message: texts.deleted({ label: backup.label }),
      at: now,
      requested: true,
    });
  });
}
