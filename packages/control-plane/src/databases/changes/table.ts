import { backUpDatabase } from "../backups/backup-activities.ts";
import { bootstrapGroup } from "../clusters/health/bootstrap-activities.ts";
import { replaceNode } from "../clusters/health/replace-activities.ts";
import { switchOver } from "../clusters/health/switch-activities.ts";
import { deleteDatabase } from "../delete-activities.ts";
import { forkDatabase, provisionDatabase } from "../provision-activities.ts";
import { restoreDatabase } from "../timelines/restore-activities.ts";
import type { Change } from "./change.ts";
import { type ColumnChange, columnChanges } from "./column-changes.ts";
import { endColumnChange, judgeColumnChange } from "./apply-change.ts";

const inColumns = (change: ColumnChange): Change => ({ ...change, judge: judgeColumnChange, end: endColumnChange });

/** Every operation on a database, by the name of its workflow. */
export const changes = {
  provisionDatabase,
  forkDatabase,
  deleteDatabase,
  applyAllowList: inColumns(columnChanges.applyAllowList),
  resizeDatabase: inColumns(columnChanges.resizeDatabase),
  suspendDatabase: inColumns(columnChanges.suspendDatabase),
  resumeDatabase: inColumns(columnChanges.resumeDatabase),
  patchDatabase: inColumns(columnChanges.patchDatabase),
  resetCredentials: inColumns(columnChanges.resetCredentials),
  backUpDatabase,
  restoreDatabase,
  switchOver,
  bootstrapGroup,
  replaceNode,
} satisfies Record<string, Change>;

export type ChangeKind = keyof typeof changes;

export function changeOf(kind: string): Change {
  if (!(kind in changes)) throw new Error(`${kind} is no operation on a database.`);
  return changes[kind as ChangeKind];
}
