import type { Command } from "commander";
import { segment } from "./arguments.ts";
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
  const creditCommand = program.command("credit").description("credit that an account is given");

  creditCommand
    .command("grant <account>")
    .description("give an account credit; its next bills use it. Said again, nothing is given twice")
    .requiredOption("--summary <words>", "in a few words, such as Welcome: bills name it, and an account has it once")
    .requiredOption("--credit <dollars>", "how much in all, such as 100")
    .option("--monthly-cap <dollars>", "the most that a month may use; all of it, if left out")
    .option("--description <text>", "for the tenant to read")
    .option("--expires <time>", "in UTC, such as 2027-06-30T00:00:00; never, if left out")
    .action(
      async (
        account: string,
        { monthlyCap, ...options }: { summary: string; credit: string; monthlyCap?: string; expires?: string },
      ) => {
        const body = { ...options, monthly_cap: monthlyCap };
        const saved = await adminClient().post<Credit>(pathOf(account), body);
        output.printResult(
          saved,
          `Account ${account} has "${saved.summary}": ${saved.remaining} of ${saved.credit} dollars left, ${saved.monthly_cap} a month at most.`,
        );
      },
    );

  creditCommand
    .command("list <account>")
    .description("every credit of an account, and what is left of it")
    .action(async (account: string) => {
      const credits = await adminClient().all<Credit>(pathOf(account));
      output.list(credits, rowOf, "No credit yet. Grant one with: moorage credit grant --help");
    });
}

const rowOf = ({ id, summary, credit, monthly_cap, remaining, granted, expires }: Credit) => ({
  ...{ id, summary, credit, remaining },
  "monthly cap": monthly_cap,
  ...{ granted, expires },
});
