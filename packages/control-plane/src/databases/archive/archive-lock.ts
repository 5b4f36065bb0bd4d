import type { SettingsOf } from "@moorage/contract/settings";
import type { Lock, Objects } from "#platform/objects.ts";
import { GRACE_DAYS, RESTORE_DAYS } from "../model/restore-window.ts";
import type { lockSettings, retentionSettings } from "../model/settings.ts";

/** The retention of an object that is stored now. Undefined: the store has none, or the operator wants none. */
export type ArchiveLock = (now: Date) => Promise<Lock | undefined>;
type Config = SettingsOf<typeof retentionSettings> & SettingsOf<typeof lockSettings>;

const DAY_MS = 86_400_000;
/** Between a base copy and the next one: until then the earlier one is where a restore starts. */
const COPY_DAYS = 1;

/**
 * How long an object is needed for what is promised: a restore to every second of the window, the daily backups, the
 * undelete of a deleted database. Snapshots are kept for longer, without a lock.
 */
export const lockDays = (config: Pick<Config, "MOORAGE_DAILY_BACKUPS_KEPT" | "MOORAGE_UNDELETE_DAYS">): number =>
  COPY_DAYS +
  Math.max(RESTORE_DAYS + GRACE_DAYS, config.MOORAGE_DAILY_BACKUPS_KEPT, Math.ceil(config.MOORAGE_UNDELETE_DAYS));

export function createArchiveLock(objects: Pick<Objects, "protection">, config: Config): ArchiveLock {
  const mode = config.MOORAGE_S3_LOCK_MODE;
  if (mode === "off") return async () => undefined;
  const days = lockDays(config);
  return async (now) => {
    const { objectLock } = await objects.protection();
    return objectLock ? { mode, until: new Date(now.getTime() + days * DAY_MS) } : undefined;
  };
}
