import type { Access, Operation, suspendMysqlDatabase } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import type { Principal } from "#identity/index.ts";
import type { OperationRow } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import type { DatabaseAction, Work } from "../model/database.ts";
import type { DatabaseChange, DatabaseRow } from "../model/database-store.ts";
import type { Change } from "./change.ts";

export type KeptColumn = keyof Pick<DatabaseRow, "plan" | "powered" | "image" | "allow_list">;

/** An operation of the contract on one database, without a body and with an empty reply. */
type RequestOperation = Operation & Pick<typeof suspendMysqlDatabase, "params" | "reply"> & { access: Access };

/** What a request is judged by, in the transaction that accepts it. */
type Requested = { tx: Tx; before: DatabaseRow; by: Principal; at: Date; sealer: Sealer };

/** A change of columns that the hosts apply, all in the same way. All of them: `updates/table.ts`. */
export type ColumnChange = Pick<Change, "kind" | "audited" | "events" | "notices"> & {
  action: DatabaseAction;
  work: Work;
  /** How a tenant requests it. Without: another operation includes it. */
  request?: {
    operation: RequestOperation;
    /** The columns that it sets. Undefined: the hosts have nothing to do. */
    columns: (requested: Requested) => Promise<DatabaseChange | undefined> | DatabaseChange;
  };
  /** The columns that are rolled back on failure. None: the change stays desired, and the hosts apply it later. */
  keeps: readonly KeptColumn[];
  /**
   * Part of what the change takes away stays away when it is rolled back: the columns to roll back to, once members may
   * have applied it.
   */
  remains?: (previous: ColumnChangeInput["previous"], changed: DatabaseRow) => ColumnChangeInput["previous"];
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
  /** The message of a failure of which members may have applied the change. Without: `failed`. */
  failedInPart?: (reason: { why: string; behind: readonly number[] }) => Text;
};

export const defineChange = <const C extends ColumnChange>(change: C): C => change;

/** What the end of such a change needs: the columns and the status to roll back to. */
export type ColumnChangeInput = {
  previous: Partial<Pick<DatabaseRow, KeptColumn>>;
  /** Absent: it was accepted before this was recorded. */
  before?: DatabaseRow["status"];
};
export const inputOf = ({ input }: OperationRow): ColumnChangeInput => input as ColumnChangeInput;
