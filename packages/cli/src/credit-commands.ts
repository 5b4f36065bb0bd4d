import type { Command } from "commander";
import { segment } from "./arguments.ts";
import { texts } from "./billing/texts.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";

type Credit = {
  id: number;
  summary: string;
  credit: string;
  monthly_cap: string;
  remaining: string;
  granted: string;
  expires: string | null;
};

const pathOf = (account: string): string => `/admin/accounts/${segment(account)}/credits`;

export function creditCommands(program: Command, output: Output): void {
  const creditCommand = program.command("credit").description("Manage the credits of accounts");

  creditCommand
    .command("grant <account>")
    .description("Grant a credit to an account. Repeating the command with the same summary grants nothing more.")
    .requiredOption("--summary <words>", "name of the credit on invoices, such as Welcome; unique within the account")
    .requiredOption("--credit <dollars>", "amount of the credit, such as 100")
    .option("--monthly-cap <dollars>", "maximum amount used per month (default: the whole credit)")
    .option("--description <text>", "description for the tenant")
    .option("--expires <time>", "end of the credit in UTC, such as 2027-06-30T00:00:00 (default: never)")
    .action(
      async (
        account: string,
        { monthlyCap, ...options }: { summary: string; credit: string; monthlyCap?: string; expires?: string },
      ) => {
        const body = { ...options, monthly_cap: monthlyCap };
        const saved = await adminClient().post<Credit>(pathOf(account), body);
        const { summary, remaining, credit, monthly_cap } = saved;
        output.printResult(
          saved,
          texts.creditGranted({ account, summary, remaining, credit, monthlyCap: monthly_cap }),
        );
      },
    );

  creditCommand
    .command("list <account>")
    .description("List the credits of an account with their remaining amounts")
    .action(async (account: string) => {
      const credits = await adminClient().all<Credit>(pathOf(account));
      output.list(credits, rowOf, texts.noCredits({ account }));
    });
}

const rowOf = ({ id, summary, credit, monthly_cap, remaining, granted, expires }: Credit) => ({
  id,
  summary,
  credit,
  remaining,
  "monthly cap": monthly_cap,
  granted,
  expires,
});
