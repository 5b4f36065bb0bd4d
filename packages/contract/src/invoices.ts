import { z } from "zod";
import { BillingSource } from "./account.ts";
import { defineOperation } from "./operation.ts";
import { Id, page, Timestamp } from "./wire.ts";

/** Dollars, exact to the cent; prices to the micro-dollar. */
export const Invoice = z.object({
  id: z.int(),
  label: z.string(),
  date: Timestamp,
  billing_source: BillingSource,
  subtotal: z.number(),
  tax: z.number(),
  tax_summary: z.array(z.object({ name: z.string(), tax: z.number() })),
  total: z.number(),
});
export type Invoice = z.output<typeof Invoice>;

export const InvoiceItem = z.object({
  label: z.string(),
  type: z.enum(["hourly", "misc"]),
  from: Timestamp,
  to: Timestamp,
  quantity: z.int(),
  unit_price: z.number(),
  amount: z.number(),
  tax: z.number(),
  total: z.number(),
  region: z.string().nullable(),
});
export type InvoiceItem = z.output<typeof InvoiceItem>;

const invoice = z.object({ invoiceId: Id });
const view = { scopes: ["account:read_only"], grant: "account_read" } as const;

export const listInvoices = defineOperation({
  id: "listInvoices",
  summary: "List the invoices of the account, oldest first",
  tag: "Billing",
  method: "GET",
  path: "/v4/account/invoices",
  access: view,
  paged: true,
  filterable: { date: "date", label: "string", total: "number", billing_source: "string" },
  rate: "collection",
  reply: page(Invoice),
});

export const viewInvoice = defineOperation({
  id: "viewInvoice",
  summary: "View an invoice",
  tag: "Billing",
  method: "GET",
  path: "/v4/account/invoices/:invoiceId",
  access: view,
  params: invoice,
  rate: "single",
  reply: Invoice,
});

export const listInvoiceItems = defineOperation({
  id: "listInvoiceItems",
  summary: "List the lines of an invoice",
  tag: "Billing",
  method: "GET",
  path: "/v4/account/invoices/:invoiceId/items",
  access: view,
  params: invoice,
  paged: true,
  rate: "collection",
  reply: page(InvoiceItem),
});

export const downloadInvoicePdf = defineOperation({
  id: "downloadInvoicePdf",
  summary: "Download an invoice as PDF",
  tag: "Billing",
  method: "GET",
  path: "/v4/account/invoices/:invoiceId/pdf",
  access: view,
  params: invoice,
  rate: "single",
  download: "application/pdf",
  reply: z.instanceof(Uint8Array),
});

export const downloadInvoiceCsv = defineOperation({
  id: "downloadInvoiceCsv",
  summary: "Download the lines of an invoice as CSV",
  tag: "Billing",
  method: "GET",
  path: "/v4/account/invoices/:invoiceId/csv",
  access: view,
  params: invoice,
  rate: "single",
  download: "text/csv",
  reply: z.instanceof(Uint8Array),
});
