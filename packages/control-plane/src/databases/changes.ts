import type { EventAction } from "@moorage/contract";
import type { DatabaseAction, Work } from "./database.ts";
import type { DatabaseRow } from "./database-store.ts";

export type KeptColumn = keyof Pick<DatabaseRow, "plan" | "powered" | "image">;

type Change = {
  action: DatabaseAction;
  work: Work;
  audited: string;
  /** Each starts with the change and ends with it. The first is the operation's. */
  events: readonly [EventAction, ...EventAction[]];
  /** What happened once, with the change. */
  notices?: readonly EventAction[];
  /** The columns that are as before again when it is given up. None: it stays wanted, and its hosts follow later. */
  keeps: readonly KeptColumn[];
  /** Its nodes restart with it: those of a cluster take it one at a time. */
  rolls?: true;
  /** Its nodes start with it: those of a cluster form their group anew. */
  starts?: true;
  /** What is not done in time stays where it is, and goes on in the next maintenance window. */
  pauses?: true;
  /** Begins the message of its failure. */
  failed: string;
};

/** The changes of a database that its hosts follow, by the name of their workflow. */
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
    // The old password may be known to others: it must not come back.
    keeps: [],
    failed: "The new password is not in force yet; the database's host goes on trying to set it",
  },
} as const satisfies Record<string, Change>;

export type ChangeKind = keyof typeof changes;

export function changeOf(kind: string): Change {
  if (!(kind in changes)) throw new Error(`${kind} is no change of a database.`);
  return changes[kind as ChangeKind];
}
