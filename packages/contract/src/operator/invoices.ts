import { z } from "zod";
import { InvoiceItem, Invoice as TenantsInvoice } from "../invoices.ts";
import { defineOperation } from "../operation.ts";
import { Id, page, Timestamp } from "../wire.ts";
import { account, ofAccount } from "./fields.ts";

export const Invoice = TenantsInvoice.extend({ account: z.int(), company: z.string(), month: z.string() });
export type Invoice = z.output<typeof Invoice>;
export const InvoiceWithItems = Invoice.extend({ items: z.array(InvoiceItem) });
export type InvoiceWithItems = z.output<typeof InvoiceWithItems>;

const AMOUNT = 'dollars as text, not 0, with at most 2 decimals, such as "-12.50" for a credit';
export const NewAdjustment = z.object({
  amount: z
    .string({ error: AMOUNT })
    .regex(/^-?(?!0*(?:\.0*)?$)\d{1,7}(?:\.\d{1,2})?$/, AMOUNT)
    .describe("amount of the line; negative for a credit, such as -12.50"),
  label: z.string().trim().min(1).max(128).describe("label of the line; unique for each invoice or account"),
});
export const Adjustment = z.object({
  id: z.int(),
  account: z.int(),
  invoice: z.int().nullable(),
  label: z.string(),
  amount: z.string(),
  month: z.string(),
});

export const Charge = z.object({
  id: z.int(),
  account: z.int(),
  purpose: z.string(),
  usd: z.number(),
  refunded_usd: z.number(),
  status: z.string(),
  reason: z.string().nullable(),
  provider_id: z.string().nullable(),
  attempts: z.int(),
  created: Timestamp,
  settled: Timestamp.nullable(),
});
export type Charge = z.output<typeof Charge>;
export const Payment = z.object({
  id: z.int(),
  account: z.int(),
  charge: z.int(),
  date: Timestamp,
  usd: z.number(),
});
export type Payment = z.output<typeof Payment>;

const invoice = z.object({ invoiceId: Id });
const common = { audience: "operator", tag: "Billing" } as const;

export const listInvoices = defineOperation({
  ...common,
  id: "listInvoices",
  summary: "List the invoices of all accounts, newest first",
  method: "GET",
  path: "/admin/invoices",
  query: ofAccount,
  paged: true,
  reply: page(Invoice),
});

export const viewInvoice = defineOperation({
  ...common,
  id: "viewInvoice",
  summary: "Show an invoice with its lines",
  method: "GET",
  path: "/admin/invoices/:invoiceId",
  params: invoice,
  reply: InvoiceWithItems,
});

export const rerateInvoice = defineOperation({
  ...common,
  id: "rerateInvoice",
  summary: "Recalculate an invoice from the recorded usage",
  note: "A difference means that data was changed outside of the control plane.",
  method: "GET",
  path: "/admin/invoices/:invoiceId/rerate",
  params: invoice,
  reply: Invoice.extend({
    differences: z.array(z.object({ what: z.string(), invoiced: z.string(), rated: z.string() })),
  }),
});

export const correctInvoice = defineOperation({
  ...common,
  id: "correctInvoice",
  summary: "Correct a final invoice with a line in the open month of its account",
  method: "POST",
  path: "/admin/invoices/:invoiceId/corrections",
  params: invoice,
  body: NewAdjustment,
  reply: Adjustment,
});

export const adjustAccount = defineOperation({
  ...common,
  id: "adjustAccount",
  summary: "Add a line to the open month of an account, such as a goodwill credit",
  method: "POST",
  path: "/admin/accounts/:accountId/adjustments",
  params: account,
  body: NewAdjustment,
  reply: Adjustment,
});

export const checkLedger = defineOperation({
  ...common,
  id: "checkLedger",
  summary: "Compare the ledger with all invoices, payments and refunds",
  method: "GET",
  path: "/admin/ledger",
  reply: z.object({
    rows: z.int(),
    faults: z.array(z.object({ account: z.int(), fault: z.string(), micros: z.number() })),
  }),
});

export const listCharges = defineOperation({
  ...common,
  id: "listCharges",
  summary: "List the charges of all accounts with their outcome, newest first",
  method: "GET",
  path: "/admin/charges",
  query: ofAccount,
  paged: true,
  reply: page(Charge),
});

export const listPayments = defineOperation({
  ...common,
  id: "listPayments",
  summary: "List the payments of all accounts, newest first",
  method: "GET",
  path: "/admin/payments",
  query: ofAccount,
  paged: true,
  reply: page(Payment),
});
