import type { Command } from "commander";
import { segment } from "./arguments.ts";
import { texts } from "./billing/texts.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";

type Charge = {
  id: number;
  account: number;
  purpose: string;
  usd: number;
  refunded_usd: number;
  status: string;
  reason: string | null;
  provider_id: string | null;
  attempts: number;
  created: string;
};
type Payment = { id: number; account: number; charge: number; date: string; usd: number };

const at = (path: string, account: string | undefined): string =>
  account === undefined ? path : `${path}?account=${segment(account)}`;

export function paymentCommands(program: Command, output: Output): void {
  program
    .command("charge")
    .description("Show charges, the attempts to collect money")
    .command("list")
    .description("List the charges of all accounts with their outcome, newest first")
    .option("--account <id>", "list only those of this account")
    .action(async ({ account }: { account?: string }) => {
      const charges = await adminClient().all<Charge>(at("/admin/charges", account));
      output.list(charges, rowOfCharge, texts.noCharges());
    });

  program
    .command("payment")
    .description("Show payments received")
    .command("list")
    .description("List the payments of all accounts, newest first")
    .option("--account <id>", "list only those of this account")
    .action(async ({ account }: { account?: string }) => {
      const payments = await adminClient().all<Payment>(at("/admin/payments", account));
      output.list(payments, (each) => ({ ...each, usd: each.usd.toFixed(2) }), texts.noPayments());
    });
}

const rowOfCharge = ({ id, account, purpose, usd, refunded_usd, status, reason, provider_id, created }: Charge) => ({
  id,
  account,
  purpose,
  usd: usd.toFixed(2),
  refunded: refunded_usd === 0 ? null : refunded_usd.toFixed(2),
  status,
  "provider id": provider_id,
  created,
  reason,
});
