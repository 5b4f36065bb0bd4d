import { randomUUID } from "node:crypto";
import type { NewDatabaseBackup } from "@moorage/contract";
import { emit } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import { linkEvent, openOperation } from "#operations/index.ts";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { notFound } from "#platform/errors.ts";
import type { Once } from "#platform/http/once.ts";
import { requireActionAllowed, statusDuring } from "../database.ts";
import { lockDatabase, saveDatabase } from "../database-store.ts";
import { entityOf, targetOf } from "../entity.ts";
import { listBackups } from "./backup-store.ts";
import { requireSnapshotPossible, type SnapshotInput } from "./snapshot.ts";

export type SnapshotDeps = { db: Db; clock: Clock; nudgeRelay: () => void; backupDeadlineSeconds: number };

/** Accepted here, taken by the database's host; it is a backup only when its copy is whole in the object store. */
export async function createSnapshot(
  deps: SnapshotDeps,
  by: Principal,
  id: number,
  request: NewDatabaseBackup,
  once: Once,
): Promise<void> {
  const { db, clock } = deps;
  await transact(db, "api.createMysqlBackup", async (tx) => {
    await once.claim(tx);
    const now = clock();
    const database = await lockDatabase(tx, by.accountId, id);
    if (database.deleted_at !== null) throw notFound();
    const others = await listBackups(tx, { accountId: by.accountId, databaseId: id });
    requireActionAllowed("back up", database.status);
    requireSnapshotPossible(database, request, others);

    await saveDatabase(tx, by.accountId, id, { status: statusDuring("backup"), updated_at: now });
    const operation = await openOperation(tx, {
      accountId: by.accountId,
      kind: "backUpDatabase",
      entityId: id,
      input: { label: request.label, copy: randomUUID() } satisfies SnapshotInput,
      at: now,
      deadlineSeconds: deps.backupDeadlineSeconds,
    });
    await once.keep(tx, {});
    await audit(tx, {
      at: now,
      account: by.accountId,
      actor: by.username,
      action: "back_up_database",
      target: targetOf(id),
      detail: { label: request.label },
    });
    const eventId = await emit(tx, {
      accountId: by.accountId,
      username: by.username,
      action: "database_backup_create",
      status: "started",
      entity: entityOf(database),
      operationId: operation.id,
      at: now,
    });
    await linkEvent(tx, operation.id, eventId);
  });
  deps.nudgeRelay();
}
