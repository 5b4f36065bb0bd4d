import { toTimestamp } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import type { OperationRow } from "#operations/index.ts";
import type { DatabaseAction, Work } from "../database.ts";
import type { DatabaseRow } from "../database-store.ts";
import { texts } from "../texts.ts";
import type { Change } from "./change.ts";

export type KeptColumn = keyof Pick<DatabaseRow, "plan" | "powered" | "image" | "allow_list">;

/** A change of columns that the hosts apply, all in the same way. */
export type ColumnChange = Pick<Change, "kind" | "audited" | "events" | "notices"> & {
  action: DatabaseAction;
  work: Work;
  /** The columns that are rolled back on failure. None: the change stays desired, and the hosts apply it later. */
  keeps: readonly KeptColumn[];
  /** The nodes get another size or image and restart for it: those of a cluster one at a time. */
  rolls?: true;
  /** The nodes start with it: those of a cluster bootstrap their group again. */
  starts?: true;
  /** A change that runs out of time stays as it is and continues in the next maintenance window. */
  pauses?: true;
  /** The message of a success; `at`: when the last node had the change. */
  done?: (at: Date | undefined) => Text;
  /** The message of a failure. */
  failed: (reason: { why: string }) => Text;
};

export const columnChanges = {
  applyAllowList: {
    kind: "applyAllowList",
    action: "update",
    work: "update",
    audited: "update_database",
    events: ["database_update"],
    keeps: ["allow_list"],
    done: (at) => (at === undefined ? texts.allowListApplied() : texts.allowListAppliedAt({ at: toTimestamp(at) })),
    failed: texts.allowListFailed,
  },
  resizeDatabase: {
    kind: "resizeDatabase",
    action: "resize",
    work: "resize",
    audited: "resize_database",
    events: ["database_update", "database_resize"],
    notices: ["database_resize_create"],
    keeps: ["plan"],
    rolls: true,
    failed: texts.resizeFailed,
  },
  suspendDatabase: {
    kind: "suspendDatabase",
    action: "suspend",
    work: "suspend",
    audited: "suspend_database",
    events: ["database_update"],
    keeps: ["powered"],
    failed: texts.suspendFailed,
  },
  resumeDatabase: {
    kind: "resumeDatabase",
    action: "resume",
    work: "resume",
    audited: "resume_database",
    events: ["database_update"],
    keeps: ["powered"],
    starts: true,
    failed: texts.resumeFailed,
  },
  patchDatabase: {
    kind: "patchDatabase",
    action: "patch",
    work: "patch",
    audited: "patch_database",
    events: ["database_update"],
    keeps: ["image"],
    rolls: true,
    pauses: true,
    failed: texts.patchFailed,
  },
  resetCredentials: {
    kind: "resetCredentials",
    action: "reset the credentials of",
    work: "reset",
    audited: "reset_credentials",
    events: ["database_credentials_reset"],
    // The old password may be compromised: it must not come back.
    keeps: [],
    failed: texts.passwordNotSet,
  },
} as const satisfies Record<string, ColumnChange>;

export type ColumnChangeKind = keyof typeof columnChanges;

export function columnChangeOf(kind: string): ColumnChange {
  if (!(kind in columnChanges)) throw new Error(`${kind} changes no columns of a database.`);
  return columnChanges[kind as ColumnChangeKind];
}

/** What the end of such a change needs: the columns to roll back to. */
export type ColumnChangeInput = { previous: Partial<Pick<DatabaseRow, KeptColumn>> };
export const previousOf = ({ input }: OperationRow): ColumnChangeInput["previous"] =>
  (input as ColumnChangeInput).previous;
