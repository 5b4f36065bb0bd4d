import type { EventAction } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import type { HostsToWake } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { ChangeContext } from "./in-operation.ts";
import type { Settlement } from "./settle.ts";

type AtEnd<Result> = (tx: Tx, context: ChangeContext, settlement: Settlement, at: Date) => Promise<Result>;

/** One kind of operation on a database: how it is recorded, and what its end means. All of them: `table.ts`. */
export type Change = {
  /** The name of its workflow. */
  kind: string;
  audited: string;
  /** Each starts and ends with the change. The first is the operation's. */
  events: readonly [EventAction, ...EventAction[]];
  /** Events that happen once, when the change is accepted. */
  notices?: readonly EventAction[];
  /** The message of a change that the sweeper ends at its deadline. Without: `judge` finds the reason. */
  late?: () => Text;
  /** Outcome and message by the rows. Without: what the workflow proposes. */
  judge?: AtEnd<Settlement>;
  /** Writes the rows of the end and sets the desired state that follows, in the transaction that ends the operation. */
  end: AtEnd<HostsToWake | undefined>;
};
