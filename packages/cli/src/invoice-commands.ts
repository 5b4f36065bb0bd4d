import type { Command } from "commander";
import { Refused } from "./admin-client.ts";
import { segment } from "./arguments.ts";
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
  const invoice = program.command("invoice").description("what accounts were billed, and how that is corrected");

  invoice
    .command("list")
    .description("every invoice, or those of one account, the newest first")
    .option("--account <id>", "only those of this account")
    .action(async ({ account }: { account?: string }) => {
      const path = account === undefined ? INVOICES : `${INVOICES}?account=${segment(account)}`;
      const invoices = await adminClient().all<Invoice>(path);
      output.list(invoices, rowOf, "No invoice yet. They are made some minutes after the end of a month.");
    });

  invoice
    .command("show <invoice>")
    .description("one invoice with its lines")
    .action(async (id: string) => {
      const found = await adminClient().get<Invoice & { items: Item[] }>(`${INVOICES}/${segment(id)}`);
      const sums = found.tax_summary.map(({ name, tax }) => `${name}: ${dollars(tax)}`);
      output.printResult(
        found,
        [
          `Invoice #${found.id} of ${found.date}, for ${found.month}: account ${found.account}, ${found.company}`,
          tableOf(found.items.map(itemRow)),
          [`Subtotal: ${dollars(found.subtotal)}`, ...sums, `Total: ${dollars(found.total)}`].join("\n"),
        ].join("\n\n"),
      );
    });

  invoice
    .command("rerate <invoice>")
    .description("work an invoice out again from what was used, and compare: there must be no difference")
    .action(async (id: string) => {
      const path = `${INVOICES}/${segment(id)}/rerate`;
      const { differences, ...found } = await adminClient().get<Invoice & { differences: Difference[] }>(path);
      const lines = differences.map(({ what, invoiced, rated }) => `${what}: invoiced ${invoiced}, rated ${rated}`);
      if (differences.length > 0) throw new Refused(`Invoice #${found.id} differs.\n${lines.join("\n")}`);
      output.printResult(
        { ...found, differences },
        `Invoice #${found.id} comes out the same: ${dollars(found.total)}.`,
      );
    });

  invoice
    .command("correct <invoice>")
    .description("a line in the account's open month that makes good what is wrong in a final invoice")
    .requiredOption("--amount <dollars>", "below zero it is a credit, such as -12.50")
    .requiredOption("--label <text>", "what the line says; of each invoice once")
    .action(async (id: string, adjustment: { amount: string; label: string }) => {
      const saved = await adminClient().post<Written>(`${INVOICES}/${segment(id)}/corrections`, adjustment);
      output.printResult(saved, inWords(saved));
    });

  invoice
    .command("adjust <account>")
    .description("a line in an account's open month that no invoice is the reason of, such as goodwill")
    .requiredOption("--amount <dollars>", "below zero it is a credit, such as -12.50")
    .requiredOption("--label <text>", "what the line says; of each account once")
    .action(async (id: string, adjustment: { amount: string; label: string }) => {
      const saved = await adminClient().post<Written>(`/admin/accounts/${segment(id)}/adjustments`, adjustment);
      output.printResult(saved, inWords(saved));
    });

  const ledger = program.command("ledger").description("the books");
  ledger
    .command("check")
    .description("compare the books with invoices, payments and refunds: there must be no difference")
    .action(async () => {
      const found = await adminClient().get<Ledger>("/admin/ledger");
      const lines = found.faults.map(({ account, fault, micros }) => `account ${account}: ${fault} by ${micros / 1e6}`);
      if (lines.length > 0) throw new Refused(`The books are wrong.\n${lines.join("\n")}`);
      output.printResult(
        found,
        `The books balance, and agree with invoices, payments and refunds: ${found.rows} rows.`,
      );
    });
}

const dollars = (amount: number): string => `${amount < 0 ? "-" : ""}$${Math.abs(amount).toFixed(2)}`;

const inWords = ({ account, amount, label, month }: Written): string =>
  `${amount} ("${label}") will be on the invoice of account ${account} for ${month}.`;

const rowOf = ({ id, account, company, month, date, subtotal, tax, total }: Invoice) => ({
  ...{ id, account, company, month, date },
  ...{ subtotal: dollars(subtotal), tax: dollars(tax), total: dollars(total) },
});

const itemRow = ({ label, from, to, quantity, unit_price, amount, tax }: Item) => ({
  ...{ label, from, to, quantity, "unit price": `$${unit_price}` },
  ...{ amount: dollars(amount), tax: dollars(tax) },
});
