import {
  createMysqlBackup,
  type DatabaseBackup,
  deleteMysqlBackup,
  listMysqlBackups,
  toTimestamp,
  viewMysqlBackup,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import { toPage } from "#platform/http/page.ts";
import { requireActionAllowed } from "../model/database.ts";
import { type BackupRow, findBackup, listBackupPage, type Owner, statusOf } from "./backup-store.ts";
import { createSnapshot, type SnapshotDeps } from "./create-snapshot.ts";
import { deleteBackup, type DeleteBackupDeps } from "./delete-backup.ts";

export type BackupRouteDeps = RouteDeps & SnapshotDeps & DeleteBackupDeps;

export const backupSteps = ["api.createMysqlBackup", "api.deleteMysqlBackup"] as const;

export function backupRoutes(app: FastifyInstance, deps: BackupRouteDeps): void {
  const { db } = deps;
  const requireReadable = async (owner: Owner): Promise<void> =>
    requireActionAllowed("read the backups of", await statusOf(db, owner));

  route(app, deps, listMysqlBackups, async ({ principal, params, page, filter }) => {
    const owner = { accountId: principal.accountId, databaseId: params.instanceId };
    await requireReadable(owner);
    const { rows, results } = await listBackupPage(db, owner, page, filter);
    return toPage(page, results, rows.map(viewOfBackup));
  });

  route(app, deps, viewMysqlBackup, async ({ principal, params }) => {
    const owner = { accountId: principal.accountId, databaseId: params.instanceId };
    await requireReadable(owner);
    return viewOfBackup(await findBackup(db, owner, params.backupId));
  });

  route(app, deps, createMysqlBackup, async ({ principal, params, body, idempotency }) => {
    await createSnapshot(deps, principal, params.instanceId, body, idempotency);
    return {};
  });

  route(app, deps, deleteMysqlBackup, async ({ principal, params }) => {
    await deleteBackup(deps, principal, params.instanceId, params.backupId);
    return {};
  });
}

const viewOfBackup = ({ id, type, label, point_at, verified_at }: BackupRow): DatabaseBackup => ({
  id,
  type,
  label,
  created: toTimestamp(point_at),
  verified: verified_at === null ? null : toTimestamp(verified_at),
});
