import { recordChange } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import { notFound } from "#platform/errors.ts";
import type { TransferDeps } from "./create-transfer.ts";
import { entityOf, openToken, targetOf } from "./entity.ts";
import { requireCancelable } from "./transfer.ts";
import { findTransfer, lockTransfer, saveTransfer } from "./transfer-store.ts";

/** Only for the account that offered it: for others the transfer does not exist. */
export const cancelTransfer = ({ db, clock, sealer }: TransferDeps, by: Principal, token: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const found = await findTransfer(tx, token);
    if (found === undefined || found.account_id !== by.accountId) throw notFound();
    const transfer = await lockTransfer(tx, found.id);
    const now = clock();
    requireCancelable(transfer, now);
    await saveTransfer(tx, transfer, { status: "canceled", updated_at: now });
    await recordChange(tx, by, {
      audited: "cancel_transfer",
      event: "entity_transfer_cancel",
      at: now,
      target: targetOf(transfer),
      entity: entityOf(openToken(sealer, transfer)),
    });
  });
