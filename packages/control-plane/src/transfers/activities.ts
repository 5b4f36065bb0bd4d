import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import type { Sealer } from "#platform/seal.ts";
import { AccountClosed, endTransfer, type Judge } from "./end-transfer.ts";
import { texts } from "./texts.ts";
import { whyNot } from "./transfer.ts";

export type TransferActivityDeps = { db: Db; clock: Clock; sealer: Sealer };

const end = (deps: TransferActivityDeps, operationId: number, judge: Judge): Promise<void> =>
  deps.db.transaction().execute((tx) => endTransfer(deps, tx, operationId, judge));

/** Repeatable: an activity may run again after it has completed. */
export const createTransferActivities = (deps: TransferActivityDeps) => ({
  /** Moves all instances, or none. */
  async moveOwnership(operationId: number): Promise<void> {
    await end(deps, operationId, whyNot).catch((error: unknown) => {
      if (!(error instanceof AccountClosed)) throw error;
      return end(deps, operationId, () => error.reason);
    });
    // Moving ended grants.
    await notify(deps.db, "identity");
  },
});
export type TransferActivities = ReturnType<typeof createTransferActivities>;

/** Ends an operation whose workflow could not, when its deadline has passed. */
export const createTransferExpiry = (deps: TransferActivityDeps) => ({
  moveEntities: (operationId: number): Promise<void> => end(deps, operationId, () => texts.deadlineExceeded()),
});
