import { downloadInvoiceCsv, downloadInvoicePdf, listInvoiceItems, listInvoices, viewInvoice } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import type { Principal } from "#identity/index.ts";
import { toPage } from "#platform/http/page.ts";
import { createPdfDrawer } from "./draw-pdf.ts";
import { findLedger, paymentOf } from "./invoice-payment.ts";
import type { Issuer } from "./invoice-pdf.ts";
import { findInvoice, findItems, listInvoicePage, listItemPage } from "./invoice-store.ts";
import { csvOf, ratesOf, viewOfInvoice, viewOfItem } from "./view.ts";

export type BillingRouteDeps = RouteDeps & { issuer: Issuer };
type Call = { principal: Principal; params: { invoiceId: number } };

export function billingRoutes(app: FastifyInstance, deps: BillingRouteDeps): void {
  const { db, issuer } = deps;
  const drawPdf = createPdfDrawer();
  const requireInvoice = ({ principal, params }: Call) => findInvoice(db, principal.accountId, params.invoiceId);

  route(app, deps, listInvoices, async ({ principal, page, filter }) => {
    const { rows, results } = await listInvoicePage(db, principal.accountId, page, filter);
    return toPage(page, results, rows.map(viewOfInvoice));
  });

  route(app, deps, viewInvoice, async (call) => viewOfInvoice(await requireInvoice(call)));

  route(app, deps, listInvoiceItems, async ({ principal, params, page, filter }) => {
    const { id } = await requireInvoice({ principal, params });
    const { rows, results } = await listItemPage(db, principal.accountId, id, page, filter);
    return toPage(page, results, rows.map(viewOfItem));
  });

  route(app, deps, downloadInvoicePdf, async (call) => {
    const invoice = await requireInvoice(call);
    const payment = paymentOf(await findLedger(db, invoice.account_id), invoice);
    return drawPdf({
      invoice,
      items: await findItems(db, invoice),
      issuer,
      payment,
      rates: await ratesOf(db, invoice),
    });
  });

  route(app, deps, downloadInvoiceCsv, async (call) => csvOf(await findItems(db, await requireInvoice(call))));
}
