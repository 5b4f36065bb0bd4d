import { snapshot } from "./backups/snapshot.ts";
import type { Change } from "./changes/change.ts";
import { bootstrap } from "./clusters/health/bootstrap-activities.ts";
import { replacement } from "./clusters/health/replace-activities.ts";
import { switchover } from "./clusters/health/switch-activities.ts";
import { deletion } from "./provision/delete-database.ts";
import { fork, provision } from "./provision/provision-activities.ts";
import { restore } from "./timelines/restore-change.ts";
import { endColumnChange, judgeColumnChange } from "./updates/apply-change.ts";
import { columnChanges } from "./updates/table.ts";

/** Every operation on a database. */
const rows: readonly Change[] = [
  provision,
  fork,
  deletion,
  snapshot,
  restore,
  switchover,
  bootstrap,
  replacement,
  ...columnChanges.map((change) => ({ ...change, judge: judgeColumnChange, end: endColumnChange })),
];

export const kinds = rows.map(({ kind }) => kind);

export function changeOf(kind: string): Change {
  const change = rows.find((row) => row.kind === kind);
  if (change === undefined) throw new Error(`${kind} is no operation on a database.`);
  return change;
}
