import type { NewDatabaseBackup } from "@moorage/contract";
import { DomainError, invalid } from "#platform/errors.ts";
import type { DatabaseRow } from "../database-store.ts";
import { isDailyLabel } from "./daily-label.ts";
import type { CopyTarget } from "./node-to-copy.ts";
import { texts } from "./texts.ts";

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
  if (target === "secondary" && cluster_size === 1) throw invalid("target", texts.noSecondary());
  if (isDailyLabel(label)) throw new DomainError("invalid", { field: "label", reason: texts.labelReserved() });
  if (others.some((other) => other.label === label))
    throw new DomainError("invalid", { field: "label", reason: texts.labelTaken({ label }) });
  const snapshots = others.filter(({ type }) => type === "snapshot");
  if (snapshots.length >= MOST_SNAPSHOTS)
    throw new DomainError("wrong-state", {
      reason: texts.tooManySnapshots({ most: MOST_SNAPSHOTS, labels: snapshots.map((one) => one.label) }),
    });
}
