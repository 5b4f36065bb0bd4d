import type { ColumnChange } from "../changes/column-changes.ts";
import { patchDatabase } from "./patch-database.ts";
import { resetCredentials } from "./reset-credentials.ts";
import { resumeDatabase } from "./resume-database.ts";
import { suspendDatabase } from "./suspend-database.ts";
import { applyAllowList, resizeDatabase } from "./update-database.ts";

/** Every change of columns that the hosts apply. Its route, workflow, end and recovery follow from its file. */
export const columnChanges: readonly ColumnChange[] = [
  applyAllowList,
  resizeDatabase,
  suspendDatabase,
  resumeDatabase,
  patchDatabase,
  resetCredentials,
];

export function columnChangeOf(kind: string): ColumnChange {
  const change = columnChanges.find((row) => row.kind === kind);
  if (change === undefined) throw new Error(`${kind} changes no columns of a database.`);
  return change;
}
