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
import { type RouteDeps, route } from "#identity/index.ts";
import { toPage } from "#platform/http/page.ts";
import type { ChargeDeps } from "./deps.ts";
import { linkToAddCard } from "./link-to-add-card.ts";
import { makeDefault } from "./make-default.ts";
import { findMethod, listMethodPage } from "./method-store.ts";
import { findPayment, listPaymentPage } from "./payment-store.ts";
import { removeMethod } from "./remove-method.ts";
import { viewOfMethod, viewOfPayment } from "./view.ts";
import { webhookRoute } from "./webhook-route.ts";

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
