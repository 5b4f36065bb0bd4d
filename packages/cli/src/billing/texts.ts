import { defineTexts, text } from "@moorage/contract/texts";

type Credit = { account: string; summary: string; remaining: string; credit: string; monthlyCap: string };
type Invoice = { id: number; date: string; month: string; account: number; company: string };
type Difference = { what: string; invoiced: string; rated: string };
type Fault = { account: number; fault: string; micros: number };

const CHANGED_OUTSIDE = "Data was changed outside of the control plane.";

/** Credits, taxes, invoices, the ledger, charges and payments. */
export const texts = defineTexts("cli_billing", {
  creditGranted: text(
    ({ account, summary, remaining, credit, monthlyCap }: Credit) =>
      `Account ${account} has the credit "${summary}": $${remaining} of $${credit} are left, at most $${monthlyCap} per month.`,
    { account: "7", summary: "Welcome", remaining: "30.00", credit: "60.00", monthlyCap: "5.00" },
  ),
  noCredits: text(
    ({ account }: { account: string }) =>
      `Account ${account} has no credit. Grant one: moorage admin credit grant ${account} --help`,
    { account: "7" },
  ),

  // Taxes.
  taxSaved: text(
    ({ name, place, percent, from }: { name: string; place: string; percent: string; from: string }) =>
      `The tax ${name} in ${place} is ${percent} % from ${from} UTC on.`,
    { name: "QST", place: "QC, CA", percent: "9.975", from: "2030-01-01T00:00:00" },
  ),
  taxEnded: text(
    ({ name, place, until }: { name: string; place: string; until: string }) =>
      `The tax ${name} in ${place} ends at ${until} UTC.`,
    { name: "QST", place: "QC, CA", until: "2031-01-01T00:00:00" },
  ),
  taxDeleted: text(({ name }: { name: string }) => `The tax ${name} was not in force yet. Its rates are deleted.`, {
    name: "QST",
  }),
  noTaxes: text(() => "There is no tax: nothing is added to invoices. Set one: moorage admin tax set --help"),

  // Invoices and the ledger.
  noInvoices: text(
    () => "There is no invoice. By default, the worker makes invoices 10 minutes after the end of a month.",
  ),
  invoiceHeading: text(
    ({ id, date, month, account, company }: Invoice) =>
      `Invoice #${id} of ${date} UTC for ${month}: account ${account}, ${company}`,
    { id: 12, date: "2026-02-01T00:10:00", month: "2026-01", account: 7, company: "Harbour Bakery" },
  ),
  invoiceDiffers: text(
    ({ id, differences }: { id: number; differences: readonly Difference[] }) =>
      [
        `Invoice #${id} differs from the recorded usage. ${CHANGED_OUTSIDE}`,
        ...differences.map(({ what, invoiced, rated }) => `${what}: invoiced ${invoiced}, recalculated ${rated}`),
      ].join("\n"),
    { id: 12, differences: [{ what: "total", invoiced: "$15.00", rated: "$14.00" }] },
  ),
  invoiceConfirmed: text(
    ({ id, total }: { id: number; total: string }) => `Invoice #${id} agrees with the recorded usage: ${total}.`,
    { id: 12, total: "$15.00" },
  ),
  lineAdded: text(
    ({ amount, label, account, month }: { amount: string; label: string; account: number; month: string }) =>
      `${amount} ("${label}") will be on the invoice of account ${account} for ${month}.`,
    { amount: "-$3.50", label: "Two hours of an outage", account: 7, month: "2026-02" },
  ),
  ledgerDiffers: text(
    ({ faults }: { faults: readonly Fault[] }) =>
      [
        `The ledger is inconsistent. ${CHANGED_OUTSIDE}`,
        ...faults.map(({ account, fault, micros }) => `account ${account}: ${fault} by ${micros / 1e6}`),
      ].join("\n"),
    { faults: [{ account: 7, fault: "payments and the ledger differ", micros: 5_000_000 }] },
  ),
  ledgerBalances: text(
    ({ rows }: { rows: number }) =>
      `The ledger balances and agrees with all invoices, payments and refunds. Rows: ${rows}.`,
    { rows: 120 },
  ),
  noCharges: text(() => "There is no charge."),
  noPayments: text(() => "There is no payment."),
});
