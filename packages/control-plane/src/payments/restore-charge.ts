import type { KeptCard, MadeCharge } from "#payment-provider/index.ts";
import { audit } from "#platform/db/audit.ts";
import { transact, type Tx } from "#platform/db/database.ts";
import { type ChargeRow, keyOf, microsOfCents, nameOf } from "./charge.ts";
import { findAccountsByUuid, insertLostCharge, lockCharge } from "./charge-store.ts";
import type { ChargeDeps } from "./deps.ts";
import { findByToken, insertMethod } from "./method-store.ts";
import { restoreClaim } from "./payment-request.ts";
import { refundCharge } from "./refund-charge.ts";
import { notifyProcesses, settleLocked } from "./settle-charge.ts";

/**
 * Credits a charge that the provider made and this database lost, as if the provider's event came late; a repetition
 * changes nothing. A charge that cannot be credited to anybody is left to the operator.
 */
export async function restoreCharge(deps: ChargeDeps, made: MadeCharge): Promise<void> {
  const settled = await transact(deps.db, "charge.reconcile", async (tx) => {
    const [account] = await findAccountsByUuid(tx, [made.accountUuid]);
    const charge = account === undefined ? undefined : await lockOrInsert(tx, account.id, made, deps.clock());
    if (charge === undefined) {
      await reportUnknown(tx, deps, made, account?.id ?? null);
      return undefined;
    }
    const outcome = await settleLocked(tx, deps, charge, { status: "succeeded", providerId: made.providerId });
    await refundCharge(tx, outcome.charge, microsOfCents(made.refundedCents), deps.clock());
    return outcome;
  });
  if (settled?.now === true) await notifyProcesses(deps, settled.charge);
}

/** Undefined: its number belongs to another charge, or it was made with something that is no card. */
async function lockOrInsert(tx: Tx, accountId: number, made: MadeCharge, at: Date): Promise<ChargeRow | undefined> {
  const amountMicros = microsOfCents(made.amountCents);
  if (made.card !== undefined) await insertLost(tx, accountId, { ...made, card: made.card }, at);
  const charge = await lockCharge(tx, made.chargeId);
  if (charge === undefined || charge.account_id !== accountId || charge.amount_micros !== amountMicros)
    return undefined;
  return keyOf(nameOf(charge, made.accountUuid)) === keyOf(made) ? charge : undefined;
}

async function insertLost(tx: Tx, accountId: number, made: MadeCharge & { card: KeptCard }, at: Date): Promise<void> {
  const method = await findOrInsertMethod(tx, accountId, made.card, at);
  if (method === undefined) return;
  const { chargeId, request } = made;
  const openedAt = new Date(made.opened);
  const inserted = await insertLostCharge(tx, {
    id: chargeId,
    account_id: accountId,
    amount_micros: microsOfCents(made.amountCents),
    payment_method_id: method.id,
    username: null,
    created_at: openedAt,
  });
  if (!inserted) return;
  if (request !== undefined) await restoreClaim(tx, request, { accountId, chargeId, openedAt });
  await audit(tx, {
    at,
    account: accountId,
    actor: "moorage",
    action: "restore_charge",
    target: `charges/${chargeId}`,
    detail: { provider: made.providerId },
  });
}

/** A card that was lost too is inserted as removed: nobody knows whether the account still has it. */
const findOrInsertMethod = async (tx: Tx, accountId: number, card: KeptCard, at: Date) =>
  (await findByToken(tx, accountId, card.token)) ??
  (await insertMethod(tx, {
    account_id: accountId,
    provider_token: card.token,
    card_type: card.cardType,
    last_four: card.lastFour,
    expiry_month: card.expiryMonth,
    expiry_year: card.expiryYear,
    is_default: false,
    created_at: at,
    deleted_at: at,
  }));

/** Once per charge: it is found again after each restart of the database. */
async function reportUnknown(tx: Tx, { log, clock }: ChargeDeps, made: MadeCharge, account: number | null) {
  const line = { action: "unknown_charge", target: `provider-charges/${made.providerId}` };
  const reported = await tx
    .selectFrom("audit")
    .select("id")
    .where("account_id", account === null ? "is" : "=", account)
    .where("action", "=", line.action)
    .where("target", "=", line.target)
    .executeTakeFirst();
  if (reported !== undefined) return;
  const detail = { account: made.accountUuid, charge: made.chargeId, cents: made.amountCents };
  log.error(
    { ...detail, provider: made.providerId },
    "the provider has a charge that cannot be credited to an account",
  );
  await audit(tx, { at: clock(), account, actor: "moorage", ...line, detail });
}
