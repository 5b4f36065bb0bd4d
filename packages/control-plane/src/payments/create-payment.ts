import { setTimeout as pause } from "node:timers/promises";
import type { NewPayment, Payment } from "@moorage/contract";
import { balanceOf } from "#billing/index.ts";
import { invalidToken, type Principal } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { type Idempotency, Replayed } from "#platform/http/idempotency.ts";
import { findCharge, holdOpenAccount } from "./charge-store.ts";
import { declined, microsOf, noProvider, notKnownYet, requirePayable } from "./charge.ts";
import type { ChargeDeps } from "./deps.ts";
import { findDefaultMethod, lockMethod, type MethodRow } from "./method-store.ts";
import { openCharge } from "./open-charge.ts";
import { requestOf } from "./payment-request.ts";
import { findPaymentOf, viewOfPayment } from "./payment-store.ts";
import { pursueCharge, type Pursued } from "./pursue-charge.ts";
import { texts } from "./texts.ts";

/**
 * A payment is two transactions with the call to the provider between them, so its Idempotency-Key stores the charge
 * instead of a reply. A repeated request finds that charge, and answers with its outcome.
 */
export async function createPayment(
  deps: ChargeDeps,
  by: Principal,
  body: NewPayment,
  idempotency: Idempotency,
): Promise<Payment> {
  const { id, isRepeated } = await openIdempotently(deps, by, body, idempotency);
  const outcome = isRepeated ? await joinCharge(deps, id) : await pursueCharge(deps, id);
  const charge = await findCharge(deps.db, id);
  if (outcome === "unknown") throw notKnownYet(charge);
  if (outcome === "declined") throw declined(charge);
  return viewOfPayment(await findPaymentOf(deps.db, charge));
}

async function openIdempotently(
  { db, clock, provider }: ChargeDeps,
  by: Principal,
  body: NewPayment,
  idempotency: Idempotency,
): Promise<{ id: number; isRepeated: boolean }> {
  try {
    const id = await db.transaction().execute(async (tx) => {
      await idempotency.claim(tx);
      if (provider === undefined) throw noProvider();
      const method = await chosenMethod(tx, by.accountId, body.payment_method_id);
      if (!(await holdOpenAccount(tx, by.accountId))) throw invalidToken();
      const amountMicros = microsOf(body.usd);
      requirePayable(amountMicros, await balanceOf(tx, by.accountId));
      const request = requestOf(idempotency);
      const charge = await openCharge(tx, {
        accountId: by.accountId,
        purpose: "payment",
        amountMicros,
        methodId: method.id,
        username: by.username,
        ...(request !== undefined && { input: { request } }),
        at: clock(),
      });
      await idempotency.keep(tx, { charge: charge.id });
      return charge.id;
    });
    return { id, isRepeated: false };
  } catch (error) {
    if (!(error instanceof Replayed)) throw error;
    const { charge } = JSON.parse(error.reply) as { charge: number };
    return { id: charge, isRepeated: true };
  }
}

/** Locked: it cannot be removed while a charge is made with it. */
async function chosenMethod(tx: Tx, accountId: number, id: number | undefined): Promise<MethodRow> {
  const chosen = id ?? (await findDefaultMethod(tx, accountId))?.id;
  const method = chosen === undefined ? undefined : await lockMethod(tx, accountId, chosen);
  if (method !== undefined) return method;
  if (id !== undefined) throw invalid("payment_method_id", texts.methodUnknown());
  throw new DomainError("wrong-state", { reason: texts.methodMissing() });
}

const PATIENCE_MS = 10_000;
const POLL_MS = 200;

/** The first request is still running, or its process died: then this one calls the provider. */
async function joinCharge(deps: ChargeDeps, id: number): Promise<Pursued> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const outcome = await pursueCharge(deps, id, { ifDue: true });
    if (outcome !== "unknown" || Date.now() >= until) return outcome;
    await pause(POLL_MS);
  }
}
