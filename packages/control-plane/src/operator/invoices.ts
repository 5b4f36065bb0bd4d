import { Id } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import {
  adjust,
  findAnyInvoice,
  findItems,
  inDollars,
  type InvoiceRow,
  listEveryInvoice,
  rerate,
  verifyLedger,
  viewOfInvoice,
  viewOfItem,
} from "#billing/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { readPage, toPage } from "#platform/http/page.ts";
import { findAccount } from "./account-store.ts";
import { command, type CommandDeps } from "./command.ts";
import { toMicros } from "./micro-dollars.ts";
import { texts } from "./texts.ts";

const AMOUNT = 'dollars as text, not 0, with at most 2 decimals, such as "-12.50" for a credit';
const Adjustment = z.object({
  amount: z.string({ error: AMOUNT }).regex(/^-?(?!0*(?:\.0*)?$)\d{1,7}(?:\.\d{1,2})?$/, AMOUNT),
  label: z.string().trim().min(1).max(128),
});

const INVOICE = "/admin/invoices/:id";

export function invoiceCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  app.get<{ Querystring: { account?: string } }>("/admin/invoices", async ({ query }) => {
    const account = query.account === undefined ? undefined : await findAccount(db, query.account);
    const page = readPage(query);
    const { rows, results } = await listEveryInvoice(db, page, account?.id);
    return toPage(page, results, rows.map(viewOf));
  });

  app.get<{ Params: { id: string } }>(INVOICE, async ({ params }) => {
    const invoice = await requireInvoice(db, params.id);
    return { ...viewOf(invoice), items: (await findItems(db, invoice)).map(viewOfItem) };
  });

  app.get<{ Params: { id: string } }>(`${INVOICE}/rerate`, async ({ params }) => {
    const invoice = await requireInvoice(db, params.id);
    return { ...viewOf(invoice), differences: await rerate(db, invoice) };
  });

  command(app, deps, { path: `${INVOICE}/corrections`, body: Adjustment }, async (tx, { amount, label }, { id }) => {
    const { account_id, id: invoiceId } = await requireInvoice(tx, id);
    return written(
      await adjust(tx, { accountId: account_id, invoiceId, label, amountMicros: signed(amount) }, clock()),
    );
  });

  const adjustments = { path: "/admin/accounts/:id/adjustments", body: Adjustment } as const;
  command(app, deps, adjustments, async (tx, { amount, label }, { id }) => {
    const { id: accountId } = await findAccount(tx, id);
    return written(await adjust(tx, { accountId, invoiceId: null, label, amountMicros: signed(amount) }, clock()));
  });

  app.get("/admin/ledger", async () => verifyLedger(db));
}

const signed = (amount: string): number => (amount.startsWith("-") ? -toMicros(amount.slice(1)) : toMicros(amount));

async function requireInvoice(db: Db | Tx, id: string | undefined): Promise<InvoiceRow> {
  const invoice = await findAnyInvoice(db, Id.safeParse(id).data ?? 0);
  if (invoice !== undefined) return invoice;
  throw new DomainError("not-found", { reason: texts.invoiceUnknown({ id }) });
}

const viewOf = (invoice: InvoiceRow) => ({
  account: invoice.account_id,
  company: invoice.bill_to.company,
  month: invoice.month.slice(0, 7),
  ...viewOfInvoice(invoice),
});

const written = (adjustment: Awaited<ReturnType<typeof adjust>>) => ({
  id: adjustment.id,
  account: adjustment.account_id,
  invoice: adjustment.invoice_id,
  label: adjustment.label,
  amount: inDollars(adjustment.amount_micros),
  month: adjustment.at.toISOString().slice(0, 7),
});
