import { defineTexts, text } from "@moorage/contract/texts";

const MEGABYTE = 1_000_000;

export const texts = defineTexts("backup", {
  /** Completes "target must be a valid value: …". */
  noSecondary: text(() => "primary (a database of one node has no secondary)"),
  labelReserved: text(
    () => "Labels in the format Scheduled-YYYYMMDD-HHMM are reserved for the daily backups. Choose another label.",
  ),
  labelTaken: text(
    ({ label }: { label: string }) => `Label must be unique among the backups of the database: "${label}" is taken.`,
    { label: "before-upgrade" },
  ),
  tooManySnapshots: text(
    ({ most, labels }: { most: number; labels: readonly string[] }) =>
      `Limit reached: at most ${most} snapshots of a database. This database has ${labels.join(", ")}. Delete one first.`,
    { most: 3, labels: ["before-upgrade", "before-import", "release-7"] },
  ),
  dailyPointMissing: text(
    ({ label, at }: { label: string; at: string }) =>
      `There is no daily backup of ${label} for ${at} UTC: the archive lacks changes from before that time. A new base copy is being taken, and daily backups continue after it. To have a backup earlier, take a snapshot.`,
    { label: "orders", at: "2026-03-01T00:00:00" },
  ),
  dailyPointMissingTitle: text(() => "Daily backup is missing"),
  deleted: text(({ label }: { label: string }) => `The backup ${label} was deleted.`, { label: "before-upgrade" }),
  snapshotStored: text(
    ({ bytes, seconds }: { bytes: number; seconds: number }) =>
      `${(bytes / MEGABYTE).toFixed(1)} MB stored in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`,
    { bytes: 2_500_000, seconds: 12 },
  ),
  snapshotFailed: text(({ why }: { why: string }) => `The snapshot could not be taken: ${why}`, {
    why: "the host did not complete the snapshot in time. Take another snapshot.",
  }),
  /** The reason of a failed snapshot. */
  snapshotLate: text(() => "the host did not complete the snapshot in time. Take another snapshot."),
  /** The reason of a failed snapshot. */
  snapshotMissing: text(
    () =>
      "the host reported the snapshot as complete, but the snapshot is not in the object store. Take another snapshot.",
  ),
  /** The reason of a failed snapshot. */
  noArchive: text(() => "this database has no archive in the object store. Ask the operator."),
});
