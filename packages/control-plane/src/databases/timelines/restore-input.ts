import type { DatabaseStatus } from "@moorage/contract";
import type { OperationRow } from "#operations/index.ts";

/** What a restore needs at its end: its target, and where it came from. */
export type RestoreInput = {
  backup: string;
  /** The timeline that the restore makes. */
  timeline: string;
  /** The timeline that the database used before. */
  previous: string;
  before: DatabaseStatus;
  /** The host has lost the database: there is nothing to go back to. */
  lost: boolean;
  /** The primary of an asynchronous cluster at that time. */
  primary?: string | undefined;
};

export const restoreInput = ({ input }: OperationRow): RestoreInput => input as RestoreInput;
