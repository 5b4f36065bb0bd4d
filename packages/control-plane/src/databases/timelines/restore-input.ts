import type { DatabaseStatus } from "@moorage/contract";
import type { OperationRow } from "#operations/index.ts";

/** What a restore needs at its end: its target, and where it came from. */
export type RestoreInput = {
  backup: string;
  /** The timeline that the restore makes. */
  timeline: string;
  /** How many members of a cluster were told to restore the data, one after the other; absent: one. */
  attempt?: number;
  /** The timeline that the database used before. */
  previous: string;
  before: DatabaseStatus;
  /** The host has lost the database: there is nothing to go back to. */
  lost: boolean;
  /** The primary of an asynchronous cluster on the previous timeline. */
  primary?: string | undefined;
  /** It needed no other member's confirmation. */
  sole?: boolean;
  /** Of an automatic restore: the transactions that the archive has. */
  gtid?: string | null;
  /** The database of one node has no host any more: the data are restored on another one. */
  elsewhere?: Elsewhere;
};

/** `node`: the node on the dead host; null: an earlier attempt has removed it. */
export type Elsewhere = {
  node: string | null;
  /** When the dead host was last seen. */
  seen_at: string | null;
  /** Nobody requested it: the newest restorable point, with a receipt. */
  automatic: boolean;
};

export const restoreInput = ({ input }: OperationRow): RestoreInput => input as RestoreInput;
