import { emit } from "#events/index.ts";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import type { Sealer } from "#platform/seal.ts";
import { entityOf, openToken, targetOf } from "./entity.ts";
import { texts } from "./texts.ts";
import { LIFE_HOURS, statusAt, type TransferRow } from "./transfer.ts";
import { lockTransfer, overdueTransfers, saveTransfer } from "./transfer-store.ts";

const BATCH = 100;

export const staleSteps = ["worker.endStaleTransfer"] as const;

/** Stores the status that readers see already, and notifies the account that offered the transfer. */
export const createStaleTransfersJob =
  ({ db, clock, sealer }: { db: Db; clock: Clock; sealer: Sealer }) =>
  async (): Promise<void> => {
    for (const { id } of await overdueTransfers(db, clock(), BATCH))
      await transact(db, staleSteps[0], async (tx) => {
        const transfer = await lockTransfer(tx, id);
        const now = clock();
        // Another worker, or the next offer of the same instances, was first.
        if (transfer.status !== "pending" || statusAt(transfer, now) !== "stale") return;
        await endStale(tx, sealer, transfer, now);
      });
  };

/** The transfer is locked and has expired. */
export async function endStale(tx: Tx, sealer: Sealer, transfer: TransferRow, now: Date): Promise<void> {
  await saveTransfer(tx, transfer, { status: "stale", updated_at: transfer.expires_at });
  const { account_id: accountId } = transfer;
  await audit(tx, {
    at: now,
    account: accountId,
    actor: "worker",
    action: "end_stale_transfer",
    target: targetOf(transfer),
  });
  await emit(tx, {
    accountId,
    username: null,
    action: "entity_transfer_stale",
    status: "notification",
    entity: entityOf(openToken(sealer, transfer)),
    message: texts.notAccepted({ hours: LIFE_HOURS }),
    at: now,
  });
}
