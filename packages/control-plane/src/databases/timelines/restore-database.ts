import { randomUUID } from "node:crypto";
import { findNodes } from "#fleet/index.ts";
import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { findBackup } from "../backups/backup-store.ts";
import { openWork } from "../changes/change.ts";
import { lockDatabase, saveDatabase } from "../model/database-store.ts";
import { requireActionAllowed, statusDuring } from "../model/database.ts";
import { insertTimeline } from "../model/timeline-store.ts";
import { areThere } from "../spec/desired-specs.ts";
import { findPrimary } from "../spec/primary-store.ts";
import { restore } from "./restore-change.ts";
import { whyElsewhere } from "./restore-elsewhere.ts";
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
    const elsewhere = await whyElsewhere(tx, database, nodes);
    if (database.timeline_id === null || (nodes.length === 0 && elsewhere === undefined))
      throw new DomainError("wrong-state", { reason: texts.noNode() });

    const primary = await findPrimary(tx, database);
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
        lost: elsewhere !== undefined || !areThere(nodes),
        ...(elsewhere === undefined ? {} : { elsewhere: { ...elsewhere, automatic: false } }),
        primary: primary?.node,
        ...(primary?.reason === "sole_survivor" ? { sole: true } : {}),
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
