import { step } from "@moorage/crash-points";
import { Declined, OutcomeUnknown, type ProviderCharge } from "#payment-provider/index.ts";
import { centsOf, isKeyStillKnown, keyOf, nameOf, noProvider } from "./charge.ts";
import { type ChargeForProvider, findForProvider, postpone, takeCharge } from "./charge-store.ts";
import type { ChargeDeps } from "./deps.ts";
import { type Outcome, settleCharge } from "./settle-charge.ts";
import { texts } from "./texts.ts";

export type Pursued = "succeeded" | "declined" | "unknown";

/**
 * Gets the outcome of a charge from the provider, and settles it. It can be called repeatedly and concurrently: the key
 * makes the provider charge once, and the lock on the row lets one caller settle. The outcome stays unknown while the
 * provider may have charges that this database lost.
 */
export async function pursueCharge(deps: ChargeDeps, id: number, { ifDue = false } = {}): Promise<Pursued> {
  const { db, clock, log } = deps;
  if (deps.provider === undefined) throw noProvider();
  const taken = await takeCharge(db, id, clock(), { ifDue });
  const charge = await findForProvider(db, id);
  if (charge.status !== "pending") return charge.status;
  if (taken === undefined) return "unknown";
  const outcome = await step("charge.ask", () => requestOutcome(deps, charge, taken.attempts === 1));
  if (outcome instanceof OutcomeUnknown) {
    log.warn({ charge: id, attempts: taken.attempts, why: outcome.message }, "the outcome of a charge is not known");
    await postpone(db, charge, clock());
    return "unknown";
  }
  const settled = await settleCharge(deps, id, outcome);
  return settled.status === "pending" ? "unknown" : settled.status;
}

async function requestOutcome(
  { provider, clock }: ChargeDeps,
  charge: ChargeForProvider,
  isFirst: boolean,
): Promise<Outcome | OutcomeUnknown> {
  if (provider === undefined) throw noProvider();
  const request = toProvider(charge);
  try {
    // A key can be stored with an inconclusive answer, or be forgotten: first look for an existing charge.
    const found = isFirst ? undefined : await provider.find(request);
    if (found !== undefined) return { status: "succeeded", ...found };
    if (!isKeyStillKnown(charge.created_at, clock()))
      return { status: "declined", reason: texts.providerUnreachable() };
    return { status: "succeeded", ...(await provider.charge(request, keyOf(request))) };
  } catch (error) {
    if (error instanceof Declined) return { status: "declined", reason: error.reason };
    if (error instanceof OutcomeUnknown) return error;
    throw error;
  }
}

/** The same each time: the provider requires equal parameters for a key. */
function toProvider(charge: ChargeForProvider): ProviderCharge {
  if (charge.provider_customer === null) throw new Error(`The account of charge ${charge.id} has no customer.`);
  const { request } = charge.input as { request?: string };
  return {
    ...nameOf(charge, charge.euuid),
    amountCents: centsOf(charge.amount_micros),
    customer: charge.provider_customer,
    token: charge.provider_token,
    description: `Payment ${charge.id}`,
    ...(request !== undefined && { request }),
  };
}
