import { timingSafeEqual } from "node:crypto";
import { addPaymentMethod, createPayment, updateCreditCard } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type RouteDeps, route } from "#identity/index.ts";
import { Admission, AskedToAdd, DESK_KEY_HEADER, SETTLE_PATH, Settlement } from "#payment-provider/index.ts";
import { createOnce } from "#platform/http/once.ts";
import { refuse } from "#platform/http/refuse.ts";
import { validate } from "#platform/http/validate.ts";
import { sha256 } from "#platform/sha256.ts";
import { admitCard, type CardDeskDeps } from "./admit-card.ts";
import { createPayment as pay } from "./create-payment.ts";
import type { ChargeDeps } from "./deps.ts";
import { settleCard } from "./settle-card.ts";

export type CardDeskRouteDeps = RouteDeps & CardDeskDeps & ChargeDeps;

/** For `cards` alone: whoever has the key may say which address a caller has, and that the provider keeps a card. */
export function requireDeskKey(app: FastifyInstance, key: string): void {
  const known = sha256(key);
  app.addHook("onRequest", (request, reply, done) => {
    if (timingSafeEqual(sha256(String(request.headers[DESK_KEY_HEADER])), known)) return done();
    void refuse(reply, 404, "Not found");
  });
}

export function cardDeskRoutes(app: FastifyInstance, deps: CardDeskRouteDeps): void {
  const admit = (operation: typeof addPaymentMethod | typeof updateCreditCard): void =>
    route(app, deps, { ...operation, body: AskedToAdd, reply: Admission }, async ({ principal, body, once }) =>
      admitCard(deps, principal, body, once),
    );
  admit(addPaymentMethod);
  admit(updateCreditCard);

  route(app, deps, createPayment, ({ principal, body, once }) => pay(deps, principal, body, once));

  app.post(SETTLE_PATH, async ({ headers, body }) => {
    // Its request was counted and judged when it was admitted; whose token has ended since gets no card.
    const principal = await deps.authenticate(headers.authorization);
    const settlement = validate(Settlement, body);
    const key = headers["idempotency-key"];
    const once = createOnce({
      key: Array.isArray(key) ? key.join(",") : key,
      accountId: principal.accountId,
      userId: principal.userId,
      operationId: settlement.operation,
      request: { params: undefined, body: settlement.asked },
      secretReply: false,
      secrets: deps.onceSecrets,
      now: deps.clock(),
    });
    return settleCard(deps, principal, settlement, once);
  });
}
