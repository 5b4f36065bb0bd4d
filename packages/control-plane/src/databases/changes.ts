import type { EventAction } from "@moorage/contract";
import type { DatabaseAction, Work } from "./database.ts";
import type { DatabaseRow } from "./database-store.ts";

export type KeptColumn = keyof Pick<DatabaseRow, "plan" | "powered" | "image">;

type Change = {
  action: DatabaseAction;
  work: Work;
  audited: string;
  /** Each starts and ends with the change. The first is the operation's. */
  events: readonly [EventAction, ...EventAction[]];
  /** Events that happen once, with the change. */
  notices?: readonly EventAction[];
  /** The columns that are rolled back on failure. None: the change stays desired, and the hosts apply it later. */
  keeps: readonly KeptColumn[];
  /** The nodes restart for it: those of a cluster one at a time. */
  rolls?: true;
  /** The nodes start with it: those of a cluster bootstrap their group again. */
  starts?: true;
  /** A change that runs out of time stays as it is and continues in the next maintenance window. */
  pauses?: true;
  /** The start of the failure message. */
  failed: string;
};

/** The changes of a database that its hosts apply, by the name of their workflow. */
export const changes = {
  resizeDatabase: {
    action: "resize",
    work: "resize",
    audited: "resize_database",
    events: ["database_update", "database_resize"],
    notices: ["database_resize_create"],
    keeps: ["plan"],
    rolls: true,
    failed: "The database could not be resized, and keeps the type that it had",
  },
  suspendDatabase: {
    action: "suspend",
    work: "suspend",
    audited: "suspend_database",
    events: ["database_update"],
    keeps: ["powered"],
    failed: "The database could not be suspended, and goes on",
  },
  resumeDatabase: {
    action: "resume",
    work: "resume",
    audited: "resume_database",
    events: ["database_update"],
    keeps: ["powered"],
    starts: true,
    failed: "The database could not be resumed, and stays suspended",
  },
  patchDatabase: {
    action: "patch",
    work: "patch",
    audited: "patch_database",
    events: ["database_update"],
    keeps: ["image"],
    rolls: true,
    pauses: true,
    failed: "The patch could not be applied, and the database runs as before it",
  },
  resetCredentials: {
    action: "reset the credentials of",
    work: "reset",
    audited: "reset_credentials",
    events: ["database_credentials_reset"],
    // The old password may be compromised: it must not come back.
    keeps: [],
    failed: "The new password is not in force yet; the database's host goes on trying to set it",
  },
} as const satisfies Record<string, Change>;

export type ChangeKind = keyof typeof changes;

export function changeOf(kind: string): Change {
  if (!(kind in changes)) throw new Error(`${kind} is no change of a database.`);
  return changes[kind as ChangeKind];
}
