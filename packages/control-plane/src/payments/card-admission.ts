import { timingSafeEqual } from "node:crypto";
import { addPaymentMethod, createPayment, updateCreditCard } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type RouteDeps, route } from "#identity/index.ts";
import { Admission, AddCardRequest, ADMISSION_KEY_HEADER, SETTLE_PATH, Settlement } from "#payment-provider/index.ts";
import { createIdempotency } from "#platform/http/idempotency.ts";
import { refuse } from "#platform/http/refuse.ts";
import { validate } from "#platform/http/validate.ts";
import { sha256 } from "#platform/sha256.ts";
import { admitCard, type CardAdmissionDeps } from "./admit-card.ts";
import { createPayment as pay } from "./create-payment.ts";
import type { ChargeDeps } from "./deps.ts";
import { settleCard } from "./settle-card.ts";
import { texts } from "./texts.ts";

export type CardAdmissionRouteDeps = RouteDeps & CardAdmissionDeps & ChargeDeps;

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
