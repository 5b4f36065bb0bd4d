import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import { NotFromProvider, OutcomeUnknown, type ProviderEvent } from "#payment-provider/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import { deleteInBatches } from "#platform/db/delete-in-batches.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { readFiles } from "#platform/http/request-body.ts";
import { addMethod } from "./add-method.ts";
import { findAccountUuid, lockCharge } from "./charge-store.ts";
import { type ChargeRow, keyOf, microsOfCents, nameOf } from "./charge.ts";
import type { ChargeDeps } from "./deps.ts";
import { refundCharge } from "./refund-charge.ts";
import { notifyProcesses, type Settled, settleLocked } from "./settle-charge.ts";
import { texts } from "./texts.ts";

const MOST_EVENT_BYTES = 256 * 1024;
/** The provider repeats an event that was not accepted for days, but not for months. */
const KEPT_DAYS = 90;

type OfCharge = Exclude<ProviderEvent, { of: "card added" }>;

/**
 * Receives the provider's events. It is no operation of the API: the signature over the bytes authenticates the
 * request. The provider repeats an event for days until the answer is 200.
 */
export function webhookRoute(app: FastifyInstance, deps: ChargeDeps): void {
  void app.register(async (scope) => {
    readFiles(scope);
    scope.post("/webhooks/stripe", { bodyLimit: MOST_EVENT_BYTES }, async ({ body, headers }) => {
      const { provider } = deps;
      if (provider === undefined) throw notFound();
      const signature = headers["stripe-signature"];
      const event = await provider
        .readEvent(
          Buffer.isBuffer(body) ? body : Buffer.alloc(0),
          typeof signature === "string" ? signature : undefined,
        )
        .catch((error: unknown) => {
          throw refusalOf(error);
        });
      if (event !== undefined) await applyEvent(deps, event);
      return {};
    });
  });
}

function refusalOf(error: unknown): unknown {
  if (error instanceof NotFromProvider) return new DomainError("invalid", { reason: texts.eventSignatureInvalid() });
  if (error instanceof OutcomeUnknown) return new DomainError("unavailable", { reason: texts.eventUnavailable() });
  return error;
}

/**
 * Applies an event of the provider once, in the transaction that acts on it: the provider repeats events that were not
 * accepted.
 */
async function applyEvent(deps: ChargeDeps, event: ProviderEvent): Promise<void> {
  const settled = await transact(deps.db, "charge.event", async (tx) => {
    if (!(await rememberEvent(tx, event, deps.clock()))) return undefined;
    if (event.of === "card added") return addCard(tx, event, deps.clock());
    const charge = await lockCharge(tx, event.chargeId);
    // A charge of another installation with the same number.
    if (charge === undefined || keyOf(nameOf(charge, await findAccountUuid(tx, charge.account_id))) !== keyOf(event))
      return undefined;
    return applyTo(tx, deps, charge, event);
  });
  if (settled?.now === true) await notifyProcesses(deps, settled.charge);
}

/** Whether the event is new. */
async function rememberEvent(tx: Tx, { id, type }: ProviderEvent, at: Date): Promise<boolean> {
  const remembered = await tx
    .insertInto("provider_events")
    .values({ id, type, received_at: at })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .returning("id")
    .executeTakeFirst();
  return remembered !== undefined;
}

/** Somebody of the account added it on the provider's page. */
async function addCard(tx: Tx, { accountUuid, card }: Extract<ProviderEvent, { of: "card added" }>, at: Date) {
  const account = await tx.selectFrom("accounts").select("id").where("euuid", "=", accountUuid).executeTakeFirst();
  if (account === undefined) return undefined;
  const event = "payment_method_add";
  await addMethod(tx, { accountId: account.id, card, isDefault: false, event, by: undefined, at });
  return undefined;
}

/** In any order: a refund implies the payment, and a payment overrides a decline. */
async function applyTo(tx: Tx, deps: ChargeDeps, charge: ChargeRow, event: OfCharge): Promise<Settled> {
  if (event.of === "charge declined")
    return settleLocked(tx, deps, charge, { status: "declined", reason: event.reason });
  if (microsOfCents(event.amountCents) !== charge.amount_micros)
    throw new Error(`Charge ${charge.id} is of ${charge.amount_micros} here, and of ${event.amountCents} cents there.`);
  const settled = await settleLocked(tx, deps, charge, { status: "succeeded", providerId: event.providerId });
  if (event.of === "refund") await refundCharge(tx, settled.charge, microsOfCents(event.refundedCents), deps.clock());
  return settled;
}

export const createProviderEventSweep =
  ({ db, clock }: { db: Db; clock: Clock }, batch?: number) =>
  (): Promise<void> =>
    deleteInBatches(
      db,
      (most) => sql`
        delete from provider_events where ctid = any(array(
          select ctid from provider_events
          where received_at < ${clock()}::timestamptz - ${`${KEPT_DAYS} days`}::interval
          order by received_at limit ${most} for update skip locked))`,
      batch,
    );
