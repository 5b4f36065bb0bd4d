import type { Command } from "commander";
import { Refused } from "./admin-client.ts";
import { segment } from "./arguments.ts";
import { texts } from "./billing/texts.ts";
import { adminClient } from "./environment.ts";
import { type Output, tableOf } from "./output.ts";

type Invoice = {
  id: number;
  account: number;
  company: string;
  month: string;
  date: string;
  subtotal: number;
  tax: number;
  tax_summary: { name: string; tax: number }[];
  total: number;
};
type Item = {
  label: string;
  from: string;
  to: string;
  quantity: number;
  unit_price: number;
  amount: number;
  tax: number;
};
type Difference = { what: string; invoiced: string; rated: string };
type Written = { account: number; amount: string; label: string; month: string };
type Ledger = { rows: number; faults: { account: number; fault: string; micros: number }[] };

const INVOICES = "/admin/invoices";

export function invoiceCommands(program: Command, output: Output): void {
  const invoice = program.command("invoice").description("Show and correct invoices");

  invoice
    .command("list")
    .description("List the invoices of all accounts, newest first")
    .option("--account <id>", "list only those of this account")
    .action(async ({ account }: { account?: string }) => {
      const path = account === undefined ? INVOICES : `${INVOICES}?account=${segment(account)}`;
      const invoices = await adminClient().all<Invoice>(path);
      output.list(invoices, rowOf, texts.noInvoices());
    });

  invoice
    .command("show <invoice>")
    .description("Show an invoice with its lines")
    .action(async (id: string) => {
      const found = await adminClient().get<Invoice & { items: Item[] }>(`${INVOICES}/${segment(id)}`);
      const sums = found.tax_summary.map(({ name, tax }) => `${name}: ${dollars(tax)}`);
      output.printResult(
        found,
        [
          texts.invoiceHeading(found).text,
          tableOf(found.items.map(itemRow)),
          [`Subtotal: ${dollars(found.subtotal)}`, ...sums, `Total: ${dollars(found.total)}`].join("\n"),
        ].join("\n\n"),
      );
    });

  invoice
    .command("rerate <invoice>")
    .description("Recalculate an invoice from the recorded usage and fail if there is a difference")
    .action(async (id: string) => {
      const path = `${INVOICES}/${segment(id)}/rerate`;
      const { differences, ...found } = await adminClient().get<Invoice & { differences: Difference[] }>(path);
      const { id: invoiceId, total } = found;
      if (differences.length > 0) throw new Refused(texts.invoiceDiffers({ id: invoiceId, differences }));
      output.printResult({ ...found, differences }, texts.invoiceConfirmed({ id: invoiceId, total: dollars(total) }));
    });

  invoice
    .command("correct <invoice>")
    .description("Correct a final invoice with a line in the open month of its account")
    .requiredOption("--amount <dollars>", "amount of the line; negative for a credit, such as -12.50")
    .requiredOption("--label <text>", "label of the line; unique for each invoice")
    .action(async (id: string, adjustment: { amount: string; label: string }) => {
      const saved = await adminClient().post<Written>(`${INVOICES}/${segment(id)}/corrections`, adjustment);
      output.printResult(saved, texts.lineAdded(saved));
    });

  invoice
    .command("adjust <account>")
    .description("Add a line to the open month of an account, such as a goodwill credit")
    .requiredOption("--amount <dollars>", "amount of the line; negative for a credit, such as -12.50")
    .requiredOption("--label <text>", "label of the line; unique for each account")
    .action(async (id: string, adjustment: { amount: string; label: string }) => {
      const saved = await adminClient().post<Written>(`/admin/accounts/${segment(id)}/adjustments`, adjustment);
      output.printResult(saved, texts.lineAdded(saved));
    });

  const ledger = program.command("ledger").description("Check the ledger");
  ledger
    .command("check")
    .description("Compare the ledger with all invoices, payments and refunds and fail if there is a difference")
    .action(async () => {
      const found = await adminClient().get<Ledger>("/admin/ledger");
      if (found.faults.length > 0) throw new Refused(texts.ledgerDiffers({ faults: found.faults }));
      output.printResult(found, texts.ledgerBalances({ rows: found.rows }));
    });
}

const dollars = (amount: number): string => `${amount < 0 ? "-" : ""}$${Math.abs(amount).toFixed(2)}`;

const rowOf = ({ id, account, company, month, date, subtotal, tax, total }: Invoice) => ({
  id,
  account,
  company,
  month,
  date,
  subtotal: dollars(subtotal),
  tax: dollars(tax),
  total: dollars(total),
});

const itemRow = ({ label, from, to, quantity, unit_price, amount, tax }: Item) => ({
  label,
  from,
  to,
  quantity,
  "unit price": `$${unit_price}`,
  amount: dollars(amount),
  tax: dollars(tax),
});
