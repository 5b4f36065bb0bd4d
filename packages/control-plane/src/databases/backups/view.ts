import { type DatabaseBackup, toTimestamp } from "@moorage/contract";
import type { BackupRow } from "./backup-store.ts";

export const viewOfBackup = ({ id, type, label, point_at, verified_at }: BackupRow): DatabaseBackup => ({
  id,
  type,
  label,
  created: toTimestamp(point_at),
  verified: verified_at === null ? null : toTimestamp(verified_at),
});
