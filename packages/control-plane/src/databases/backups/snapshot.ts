import type { NewDatabaseBackup } from "@moorage/contract";
import { DomainError, invalid } from "#platform/errors.ts";
import type { DatabaseRow } from "../database-store.ts";
import { isDailyLabel } from "./daily-label.ts";
import type { CopyTarget } from "./node-to-copy.ts";

/** In addition to the daily backups, until their tenant deletes them. */
const MOST_SNAPSHOTS = 3;

/** The input of a snapshot's operation: the copy has its id before it is taken, so that it is taken once. */
export type SnapshotInput = { label: string; copy: string; target?: CopyTarget };

/** After this check only the host's work remains. `others` are the existing backups of the database. */
export function requireSnapshotPossible(
  { cluster_size }: Pick<DatabaseRow, "cluster_size">,
  { label, target }: NewDatabaseBackup,
  others: readonly { type: string; label: string }[],
): void {
  if (target === "secondary" && cluster_size === 1)
    throw invalid("target", "primary (a database of one node has no secondary)");
  if (isDailyLabel(label))
    throw new DomainError("invalid", {
      field: "label",
      reason: "Labels of the form Scheduled-YYYYMMDD-HHMM are kept for the daily backups. Choose another one.",
    });
  if (others.some((other) => other.label === label))
    throw new DomainError("invalid", {
      field: "label",
      reason: `Label must be unique among the database's backups: "${label}" is taken.`,
    });
  const snapshots = others.filter(({ type }) => type === "snapshot");
  if (snapshots.length >= MOST_SNAPSHOTS)
    throw new DomainError("wrong-state", {
      reason: `A database keeps at most ${MOST_SNAPSHOTS} snapshots, and this one has ${snapshots.map((one) => one.label).join(", ")}. Delete one of them first.`,
    });
}

const MEGABYTE = 1_000_000;

/** The message of a successful snapshot's event. */
export const sentenceOf = (bytes: number, from: Date, to: Date): string => {
  const seconds = Math.max(1, Math.round((to.getTime() - from.getTime()) / 1000));
  return `${(bytes / MEGABYTE).toFixed(1)} MB stored in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`;
};
