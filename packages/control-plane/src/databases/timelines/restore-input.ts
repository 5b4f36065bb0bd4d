import type { DatabaseStatus } from "@moorage/contract";
import type { OperationRow } from "#operations/index.ts";

/** What a restore needs to know at its end: where it leads, and where it came from. */
export type RestoreInput = {
  backup: string;
  /** The one that it makes. */
  timeline: string;
  /** The one that the database lived on. */
  previous: string;
  before: DatabaseStatus;
  /** Its host has lost the database: there is nothing to go back to. */
  lost: boolean;
  /** The node that led an asynchronous cluster then. */
  primary?: string | undefined;
};

export const restoreInput = ({ input }: OperationRow): RestoreInput => input as RestoreInput;
