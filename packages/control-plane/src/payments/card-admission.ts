import { timingSafeEqual } from "node:crypto";
import { addPaymentMethod, createPayment, updateCreditCard } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import type { Principal } from "#identity/index.ts";
import { AddCardRequest, Admission, ADMISSION_KEY_HEADER, SETTLE_PATH, Settlement } from "#payment-provider/index.ts";
import { createIdempotency, type Idempotency } from "#platform/http/idempotency.ts";
import { refuse } from "#platform/http/refuse.ts";
import { validate } from "#platform/http/validate.ts";
import { sha256 } from "#platform/sha256.ts";
import { addMethod } from "./add-method.ts";
import { admitCard, type CardAdmissionDeps, saveAttemptOutcome, tooManyMethods } from "./admit-card.ts";
import { createPayment as pay } from "./create-payment.ts";
import type { ChargeDeps } from "./deps.ts";
import { texts } from "./texts.ts";

type CardAdmissionRouteDeps = RouteDeps & CardAdmissionDeps & ChargeDeps;

/** Only for `cards`: whoever has the key may set a caller's address, and report that the provider stores a card. */
export function requireAdmissionKey(app: FastifyInstance, key: string): void {
  const known = sha256(key);
  app.addHook("onRequest", (request, reply, done) => {
    if (timingSafeEqual(sha256(String(request.headers[ADMISSION_KEY_HEADER])), known)) return done();
    void refuse(reply, 404, texts.admissionKeyWrong());
  });
}

export function cardAdmissionRoutes(app: FastifyInstance, deps: CardAdmissionRouteDeps): void {
  const admit = (operation: typeof addPaymentMethod | typeof updateCreditCard): void =>
    route(
      app,
      deps,
      { ...operation, body: AddCardRequest, reply: Admission },
      async ({ principal, body, idempotency }) => admitCard(deps, principal, body, idempotency),
    );
  admit(addPaymentMethod);
  admit(updateCreditCard);

  route(app, deps, createPayment, ({ principal, body, idempotency }) => pay(deps, principal, body, idempotency));

  app.post(SETTLE_PATH, async ({ headers, body }) => {
    // The request was counted and checked when it was admitted; a token that was revoked since adds no card.
    const principal = await deps.authenticate(headers.authorization);
    const settlement = validate(Settlement, body);
    const key = headers["idempotency-key"];
    const idempotency = createIdempotency({
      key: Array.isArray(key) ? key.join(",") : key,
      accountId: principal.accountId,
      userId: principal.userId,
      operationId: settlement.operation,
      request: { params: undefined, body: settlement.request },
      secretReply: false,
      secrets: deps.idempotencySecrets,
      now: deps.clock(),
    });
    return settleCard(deps, principal, settlement, idempotency);
  });
}

/** Ends an attempt, in one transaction with the resulting payment method. */
async function settleCard(
  { db, clock }: Pick<CardAdmissionDeps, "db" | "clock">,
  by: Principal,
  { operation, attempt: id, request, outcome }: Settlement,
  idempotency: Idempotency,
): Promise<object> {
  const attempt = { account_id: by.accountId, id };
  const added = await db.transaction().execute(async (tx) => {
    if (outcome.is === "declined") {
      await saveAttemptOutcome(tx, attempt, "refused");
      return undefined;
    }
    await idempotency.requireNotDone(tx);
    const answer = await addMethod(tx, {
      accountId: by.accountId,
      card: outcome.card,
      isDefault: operation === "updateCreditCard" || request.is_default,
      event: operation === "updateCreditCard" ? "credit_card_updated" : "payment_method_add",
      by,
      at: clock(),
    });
    await saveAttemptOutcome(tx, attempt, answer === "too many" ? "refused" : "added");
    if (answer === "too many") return answer;
    // Not first, as elsewhere: the account's lock serializes two requests that settle one attempt.
    await idempotency.claim(tx);
    await idempotency.keep(tx, {});
    return answer;
  });
  if (added === "too many") throw tooManyMethods();
  return {};
}
