import { randomUUID } from "node:crypto";
import type { NewDatabaseBackup } from "@moorage/contract";
import type { Principal } from "#identity/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact } from "#platform/db/database.ts";
import { notFound } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { openWork } from "../changes/change.ts";
import { lockDatabase, saveDatabase } from "../model/database-store.ts";
import { requireActionAllowed, statusDuring } from "../model/database.ts";
import { requireSnapshotPossible, snapshot, type SnapshotInput } from "./snapshot.ts";
import { listBackups } from "./backup-store.ts";

export type SnapshotDeps = { db: Db; clock: Clock; nudgeRelay: () => void; backupDeadlineSeconds: number };

/**
 * Accepts the snapshot; the database's host takes it. It becomes a backup only when its copy is complete in the object
 * store.
 */
export async function createSnapshot(
  deps: SnapshotDeps,
  by: Principal,
  id: number,
  request: NewDatabaseBackup,
  idempotency: Idempotency,
): Promise<void> {
  const { db, clock } = deps;
  await transact(db, "api.createMysqlBackup", async (tx) => {
    await idempotency.claim(tx);
    const now = clock();
    const database = await lockDatabase(tx, by.accountId, id);
    if (database.deleted_at !== null) throw notFound();
    const others = await listBackups(tx, { accountId: by.accountId, databaseId: id });
    requireActionAllowed("back up", database.status);
    requireSnapshotPossible(database, request, others);

    await saveDatabase(tx, by.accountId, id, { status: statusDuring("backup"), updated_at: now });
    await idempotency.keep(tx, {});
    await openWork(tx, database, snapshot, {
      input: { label: request.label, copy: randomUUID(), target: request.target } satisfies SnapshotInput,
      detail: { label: request.label },
      username: by.username,
      at: now,
      deadlineSeconds: deps.backupDeadlineSeconds,
    });
  });
  deps.nudgeRelay();
}
