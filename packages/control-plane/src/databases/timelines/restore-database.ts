import { randomUUID } from "node:crypto";
import { findNodes } from "#fleet/index.ts";
import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { findBackup } from "../backups/backup-store.ts";
import { findPrimary } from "../clusters/async-primary/primary-store.ts";
import { requireActionAllowed, statusDuring } from "../database.ts";
import { lockDatabase, saveDatabase } from "../database-store.ts";
import { openWork } from "../changes/open-work.ts";
import { insertTimeline } from "../timeline-store.ts";
import { areThere } from "../desired-specs.ts";
import { restore } from "./restore-activities.ts";
import type { RestoreInput } from "./restore-input.ts";
import { texts } from "./texts.ts";

export type RestoreDeps = { db: Db; clock: Clock; nudgeRelay: () => void; restoreDeadlineSeconds: number };

/**
 * Starts a timeline at the backup's point. Its row is written in this transaction, so that retention keeps what it
 * needs even if the backup's row is deleted meanwhile. The database keeps its present data until the new ones are
 * proven.
 */
export async function restoreDatabase(
  deps: RestoreDeps,
  by: Principal,
  { instanceId, backupId }: { instanceId: number; backupId: number },
  idempotency: Idempotency,
): Promise<Record<string, never>> {
  const { db, clock } = deps;
  await transact(db, "api.restoreMysqlBackup", async (tx) => {
    await idempotency.claim(tx);
    const now = clock();
    const database = await lockDatabase(tx, by.accountId, instanceId);
    if (database.deleted_at !== null) throw notFound();
    const backup = await findBackup(tx, { accountId: by.accountId, databaseId: instanceId }, backupId);
    requireActionAllowed("restore", database.status);
    const nodes = await findNodes(tx, by.accountId, instanceId);
    if (database.timeline_id === null || nodes.length === 0)
      throw new DomainError("wrong-state", { reason: texts.noNode() });

    const timeline = randomUUID();
    const from =
      backup.copy_id === null
        ? { parent: backup.timeline_id, until: backup.point_at }
        : { parent: backup.timeline_id, copy: backup.copy_id };
    await insertTimeline(tx, database, { id: timeline, from, at: now });
    await saveDatabase(tx, by.accountId, instanceId, { status: statusDuring("restore"), updated_at: now });
    await openWork(tx, database, restore, {
      input: {
        backup: backup.label,
        timeline,
        previous: database.timeline_id,
        before: database.status,
        lost: !areThere(nodes),
        primary: (await findPrimary(tx, database))?.node,
      } satisfies RestoreInput,
      detail: { backup: backupId, label: backup.label },
      username: by.username,
      at: now,
      deadlineSeconds: deps.restoreDeadlineSeconds,
    });
    await idempotency.keep(tx, {});
  });
  deps.nudgeRelay();
  return {};
}
