import * as contract from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
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
import { toPage } from "#platform/http/page.ts";
import { toMicros } from "#platform/money.ts";
import { accountOf, findAccount } from "./account-store.ts";
import { command, type CommandDeps, operatorRoute } from "./operator-route.ts";
import { texts } from "./texts.ts";

export function invoiceCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  operatorRoute(app, contract.listInvoices, async ({ query, page }) => {
    const { rows, results } = await listEveryInvoice(db, page, await accountOf(db, query));
    return toPage(page, results, rows.map(viewOf));
  });

  operatorRoute(app, contract.viewInvoice, async ({ params }) => {
    const invoice = await requireInvoice(db, params.invoiceId);
    return { ...viewOf(invoice), items: (await findItems(db, invoice)).map(viewOfItem) };
  });

  operatorRoute(app, contract.rerateInvoice, async ({ params }) => {
    const invoice = await requireInvoice(db, params.invoiceId);
    return { ...viewOf(invoice), differences: await rerate(db, invoice) };
  });

  command(app, deps, contract.correctInvoice, async (tx, { params, body: { amount, label } }) => {
    const { account_id: accountId, id: invoiceId } = await requireInvoice(tx, params.invoiceId);
    return written(await adjust(tx, { accountId, invoiceId, label, amountMicros: signed(amount) }, clock()));
  });

  command(app, deps, contract.adjustAccount, async (tx, { params, body: { amount, label } }) => {
    const { id: accountId } = await findAccount(tx, params.accountId);
    return written(await adjust(tx, { accountId, invoiceId: null, label, amountMicros: signed(amount) }, clock()));
  });

  operatorRoute(app, contract.checkLedger, () => verifyLedger(db));
}

const viewOf = (invoice: InvoiceRow): contract.Invoice => ({
  account: invoice.account_id,
  company: invoice.bill_to.company,
  month: invoice.month.slice(0, 7),
  ...viewOfInvoice(invoice),
});

async function requireInvoice(db: Db | Tx, id: number): Promise<InvoiceRow> {
  const invoice = await findAnyInvoice(db, id);
  if (invoice !== undefined) return invoice;
  throw new DomainError("not-found", { reason: texts.invoiceUnknown({ id }) });
}

const written = (adjustment: Awaited<ReturnType<typeof adjust>>) => ({
  id: adjustment.id,
  account: adjustment.account_id,
  invoice: adjustment.invoice_id,
  label: adjustment.label,
  amount: inDollars(adjustment.amount_micros),
  month: adjustment.at.toISOString().slice(0, 7),
});

const signed = (amount: string): number => (amount.startsWith("-") ? -toMicros(amount.slice(1)) : toMicros(amount));
