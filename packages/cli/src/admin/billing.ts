import * as contract from "@moorage/contract/operator";
import { texts } from "../billing/texts.ts";
import { tableOf } from "../output.ts";
import { Refused } from "../refused.ts";
import { type AdminCommand, define } from "./admin-command.ts";

const placeOf = ({ country, state }: contract.Tax): string => (state === "" ? country : `${state}, ${country}`);
const dollars = (amount: number): string => `${amount < 0 ? "-" : ""}$${Math.abs(amount).toFixed(2)}`;

/** Credits, taxes, invoices, the ledger, charges and payments. */
export const billingCommands: readonly AdminCommand[] = [
  define({
    words: "credit grant",
    operation: contract.grantCredit,
    print: ({ summary, remaining, credit, monthly_cap: monthlyCap }, { accountId: account = "" }) =>
      texts.creditGranted({ account, summary, remaining, credit, monthlyCap }),
  }),
  define({
    words: "credit list",
    operation: contract.listCredits,
    list: ({ id, summary, credit, monthly_cap, remaining, granted, expires }) => ({
      id,
      summary,
      credit,
      remaining,
      "monthly cap": monthly_cap,
      granted,
      expires,
    }),
    empty: ({ accountId: account = "" }) => texts.noCredits({ account }),
  }),
  define({
    words: "tax set",
    operation: contract.setTax,
    arguments: ["country", "name"],
    print: (tax) => texts.taxSaved({ ...tax, place: placeOf(tax) }),
  }),
  define({
    words: "tax end",
    operation: contract.endTax,
    arguments: ["country", "name"],
    print: ({ data }, { name = "" }) => {
      const last = data.at(-1);
      if (last === undefined) return texts.taxDeleted({ name });
      return texts.taxEnded({ name, place: placeOf(last), until: String(last.until) });
    },
  }),
  define({
    words: "tax list",
    operation: contract.listTaxes,
    list: ({ country, state, name, percent, from, until, waived_by_tax_id }) => ({
      country,
      state,
      name,
      percent,
      from,
      until,
      "waived by tax id": waived_by_tax_id,
    }),
    empty: texts.noTaxes(),
  }),
  define({
    words: "invoice list",
    operation: contract.listInvoices,
    list: ({ id, account, company, month, date, subtotal, tax, total }) => ({
      id,
      account,
      company,
      month,
      date,
      subtotal: dollars(subtotal),
      tax: dollars(tax),
      total: dollars(total),
    }),
    empty: texts.noInvoices(),
  }),
  define({ words: "invoice show", operation: contract.viewInvoice, print: invoiceText }),
  define({
    words: "invoice rerate",
    operation: contract.rerateInvoice,
    summary: "Recalculate an invoice from the recorded usage and fail if there is a difference",
    print: ({ id, total, differences }) => {
      if (differences.length > 0) throw new Refused(texts.invoiceDiffers({ id, differences }));
      return texts.invoiceConfirmed({ id, total: dollars(total) });
    },
  }),
  define({ words: "invoice correct", operation: contract.correctInvoice, print: (line) => texts.lineAdded(line) }),
  define({ words: "invoice adjust", operation: contract.adjustAccount, print: (line) => texts.lineAdded(line) }),
  define({
    words: "ledger check",
    operation: contract.checkLedger,
    summary: "Compare the ledger with all invoices, payments and refunds and fail if there is a difference",
    print: ({ rows, faults }) => {
      if (faults.length > 0) throw new Refused(texts.ledgerDiffers({ faults }));
      return texts.ledgerBalances({ rows });
    },
  }),
  define({
    words: "charge list",
    operation: contract.listCharges,
    list: ({ id, account, purpose, usd, refunded_usd, status, reason, provider_id, created }) => ({
      id,
      account,
      purpose,
      usd: usd.toFixed(2),
      refunded: refunded_usd === 0 ? null : refunded_usd.toFixed(2),
      status,
      "provider id": provider_id,
      created,
      reason,
    }),
    empty: texts.noCharges(),
  }),
  define({
    words: "payment list",
    operation: contract.listPayments,
    list: (payment) => ({ ...payment, usd: payment.usd.toFixed(2) }),
    empty: texts.noPayments(),
  }),
];

function invoiceText(invoice: contract.InvoiceWithItems): string {
  const lines = invoice.items.map(({ label, from, to, quantity, unit_price, amount, tax }) => ({
    label,
    from,
    to,
    quantity,
    "unit price": `$${unit_price}`,
    amount: dollars(amount),
    tax: dollars(tax),
  }));
  const taxes = invoice.tax_summary.map(({ name, tax }) => `${name}: ${dollars(tax)}`);
  const sums = [`Subtotal: ${dollars(invoice.subtotal)}`, ...taxes, `Total: ${dollars(invoice.total)}`];
  return [texts.invoiceHeading(invoice).text, tableOf(lines), sums.join("\n")].join("\n\n");
}
