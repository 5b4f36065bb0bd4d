import {
  createPaymentMethodLink,
  deletePaymentMethod,
  listPaymentMethods,
  listPayments,
  makePaymentMethodDefault,
  viewPayment,
  viewPaymentMethod,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import { type Principal, setFirstCustomer } from "#identity/index.ts";
import { Declined, OutcomeUnknown } from "#payment-provider/index.ts";
import { DomainError } from "#platform/errors.ts";
import type { Idempotency } from "#platform/http/idempotency.ts";
import { toPage } from "#platform/http/page.ts";
import { MOST_METHODS, requireZip, tooManyMethods } from "./admit-card.ts";
import { webhookRoute } from "./provider-events.ts";
import { noProvider } from "./charge.ts";
import type { ChargeDeps } from "./deps.ts";
import { countMethods, findMethod, listMethodPage, viewOfMethod } from "./method-store.ts";
import { findPayment, listPaymentPage, viewOfPayment } from "./payment-store.ts";
import { makeDefault, removeMethod } from "./manage-methods.ts";
import { texts } from "./texts.ts";

export type PaymentRouteDeps = RouteDeps & ChargeDeps;

/** Operations whose body may contain a card's number or code are not here: the card admission serves them. */
export function paymentRoutes(app: FastifyInstance, deps: PaymentRouteDeps): void {
  const { db } = deps;

  route(app, deps, listPaymentMethods, async ({ principal, page, filter }) => {
    const { rows, results } = await listMethodPage(db, principal.accountId, page, filter);
    return toPage(page, results, rows.map(viewOfMethod));
  });

  route(app, deps, viewPaymentMethod, async ({ principal, params }) =>
    viewOfMethod(await findMethod(db, principal.accountId, params.paymentMethodId)),
  );

  route(app, deps, deletePaymentMethod, async ({ principal, params }) => {
    await removeMethod(deps, principal, params.paymentMethodId);
    return {};
  });

  route(app, deps, makePaymentMethodDefault, ({ principal, params, idempotency }) =>
    makeDefault(deps, principal, params.paymentMethodId, idempotency),
  );

  route(app, deps, createPaymentMethodLink, ({ principal, idempotency }) =>
    linkToAddCard(deps, principal, idempotency),
  );

  route(app, deps, listPayments, async ({ principal, page, filter }) => {
    const { rows, results } = await listPaymentPage(db, principal.accountId, page, filter);
    return toPage(page, results, rows.map(viewOfPayment));
  });

  route(app, deps, viewPayment, async ({ principal, params }) =>
    viewOfPayment(await findPayment(db, principal.accountId, params.paymentId)),
  );

  webhookRoute(app, deps);
}

/** A page of the provider on which the account adds a card. The provider reports the card by an event. */
async function linkToAddCard(
  { db, provider, log }: ChargeDeps,
  by: Principal,
  idempotency: Idempotency,
): Promise<{ url: string }> {
  if (provider === undefined) throw noProvider();
  const account = await db
    .selectFrom("accounts")
    .select(["euuid", "provider_customer", "zip", "country"])
    .where("id", "=", by.accountId)
    .executeTakeFirstOrThrow();
  requireZip(account);
  if ((await countMethods(db, by.accountId)) >= MOST_METHODS) throw tooManyMethods();
  const { url, customer } = await provider
    .linkToAddCard({ ...account, accountUuid: account.euuid, customer: account.provider_customer })
    .catch((error: unknown) => {
      if (!(error instanceof Declined || error instanceof OutcomeUnknown)) throw error;
      log.warn({ err: error }, "the payment provider returned no page");
      throw new DomainError("unavailable", { reason: texts.linkUnavailable() });
    });
  return db.transaction().execute(async (tx) => {
    await idempotency.claim(tx);
    await setFirstCustomer(tx, by.accountId, customer);
    await idempotency.keep(tx, { url });
    return { url };
  });
}
