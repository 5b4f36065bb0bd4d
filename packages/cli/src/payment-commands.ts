import type { Command } from "commander";
import { segment } from "./arguments.ts";
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
    .description("intents to take money, and what became of them")
    .command("list")
    .description("every charge, or those of one account, the newest first")
    .option("--account <id>", "only those of this account")
    .action(async ({ account }: { account?: string }) => {
      const charges = await adminClient().all<Charge>(at("/admin/charges", account));
      output.list(charges, rowOfCharge, "Nothing was charged.");
    });

  program
    .command("payment")
    .description("money that came in")
    .command("list")
    .description("every payment, or those of one account, the newest first")
    .option("--account <id>", "only those of this account")
    .action(async ({ account }: { account?: string }) => {
      const payments = await adminClient().all<Payment>(at("/admin/payments", account));
      output.list(payments, (each) => ({ ...each, usd: each.usd.toFixed(2) }), "Nothing was paid.");
    });
}

const rowOfCharge = ({ id, account, purpose, usd, refunded_usd, status, reason, provider_id, created }: Charge) => ({
  id,
  account,
  for: purpose,
  usd: usd.toFixed(2),
  refunded: refunded_usd === 0 ? null : refunded_usd.toFixed(2),
  status,
  "at the provider": provider_id,
  created,
  reason,
});
