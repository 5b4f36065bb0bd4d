import type { Cancellation } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { balanceOf, estimate, inDollars } from "#billing/index.ts";
import { stopDatabases, type StopDeps } from "#databases/index.ts";
import type { Principal } from "#identity/index.ts";
import {
  beingMade,
  type ChargeDeps,
  type ChargeRow,
  findCharge,
  findDefaultMethod,
  findPending,
  LEAST_CHARGE_MICROS,
  openCharge,
  pursueCharge,
} from "#payments/index.ts";
import { transact, type Tx } from "#platform/db/database.ts";
import { notify } from "#platform/db/notifications.ts";
import { DomainError } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { lockAccount, requireOpen } from "./account-store.ts";
import { type CancelInput, closeAccount, type CloseSettings } from "./close-account.ts";
import { texts } from "./texts.ts";

export type CancelDeps = ChargeDeps &
  StopDeps &
  CloseSettings & {
    nudgeRelay: () => void;
    /** The operator's exit survey; empty: none. */
    surveyUrl: string;
  };

/** The writing steps of the API process, at which a fault drill can kill it. */
export const cancelSteps = ["api.cancelAccount", "api.stopClosedDatabase"] as const;

/**
 * Charges the balance and the usage until now in one charge. The account is closed only once that is paid, in the
 * transaction that records the payment; otherwise nothing changes.
 */
export async function cancelAccount(
  deps: CancelDeps,
  by: Principal,
  { comments = "" }: Cancellation,
  idempotency: Idempotency,
): Promise<{ survey_link: string }> {
  const reply = { survey_link: deps.surveyUrl };
  const keep = async (tx: Tx): Promise<void> => {
    await idempotency.claim(tx);
    await idempotency.keep(tx, reply);
  };
  const charge = await startCancellation(deps, by, comments, idempotency, keep);
  if (charge !== undefined) {
    await requirePaid(deps, charge);
    await deps.db.transaction().execute(keep);
  }
  await notify(deps.db, "identity");
  await stopDatabases(deps, by.accountId);
  deps.nudgeRelay();
  return reply;
}

/** Undefined: there is nothing to charge, and the account is closed. */
const startCancellation = (
  deps: CancelDeps,
  by: Principal,
  comments: string,
  idempotency: Idempotency,
  keep: (tx: Tx) => Promise<void>,
): Promise<ChargeRow | undefined> =>
  transact(deps.db, "api.cancelAccount", async (tx) => {
    const at = deps.clock();
    const { accountId, username } = by;
    const account = await lockAccount(tx, accountId);
    await idempotency.requireNotDone(tx);
    const { billing_source } = requireOpen(account);
    const pending = await findPending(tx, accountId);
    if (pending !== undefined) throw beingMade(pending);
    const used = await estimate(tx, accountId, at);
    const amountMicros = (await balanceOf(tx, accountId)) + used.total_micros;
    // An amount too small to be charged, or billed by a partner, must not prevent closing: it stays in the ledger.
    if (billing_source === "partner" || amountMicros < LEAST_CHARGE_MICROS) {
      await closeAccount(tx, deps, { accountId, username, cutoff: at, comments }, at);
      await keep(tx);
      return undefined;
    }
    const method = await findDefaultMethod(tx, accountId);
    if (method === undefined || deps.provider === undefined)
      throw refused(texts.cancelWithoutPaymentMethod({ amount: inDollars(amountMicros) }));
    const input = { cutoff: at.toISOString(), comments } satisfies CancelInput;
    return openCharge(tx, {
      accountId,
      purpose: "cancel",
      amountMicros,
      methodId: method.id,
      username,
      input,
      at,
    });
  });

async function requirePaid(deps: CancelDeps, { id, amount_micros }: ChargeRow): Promise<void> {
  const outcome = await pursueCharge(deps, id);
  const amount = inDollars(amount_micros);
  if (outcome === "declined") {
    const { reason } = await findCharge(deps.db, id);
    throw refused(texts.cancelChargeDeclined({ amount, why: reason ?? texts.cardDeclined().text }));
  }
  if (outcome === "unknown") throw refused(texts.cancelChargeUnconfirmed({ amount }));
}

const refused = (reason: Text): DomainError => new DomainError("conflict", { reason });
