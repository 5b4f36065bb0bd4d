import type { Command } from "commander";
import { segment } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";

type Price = { from: string; hourly: string; monthly: string; suspended_hourly: string; suspended_monthly: string };
type PriceOptions = { hourly: string; monthly: string; suspendedHourly?: string; suspendedMonthly?: string };

/** Prices of a plan, current and former. */
export function priceCommands(plan: Command, output: Output): void {
  plan
    .command("price <id>")
    .description("set what a node of a plan costs from a full hour on; what was used before keeps its price")
    .requiredOption("--hourly <dollars>", "price of an hour, to the micro-dollar, such as 0.0225")
    .requiredOption("--monthly <dollars>", "the most that a month costs, such as 15")
    .option("--suspended-hourly <dollars>", "price of an hour while it is suspended; nothing, if left out")
    .option("--suspended-monthly <dollars>", "the most that a suspended month costs")
    .option("--from <time>", "a full hour in UTC, such as 2026-12-01T00:00:00; the next one, if left out")
    .action(async (id: string, { from, ...options }: PriceOptions & { from?: string }) => {
      const saved = await adminClient().post<Price>(pathOf(id), { ...priceIn(options), from });
      output.printResult(
        saved,
        `Plan ${id} from ${saved.from}: ${saved.hourly} dollars an hour, ${saved.monthly} a month at most.`,
      );
    });
  plan
    .command("prices <id>")
    .description("every price of a plan: past, in force, to come")
    .action(async (id: string) => {
      const prices = await adminClient().all<Price>(pathOf(id));
      output.list(prices, rowOf, "No price yet. Set one with: moorage plan price --help");
    });
}

export const priceIn = ({ hourly, monthly, suspendedHourly, suspendedMonthly }: PriceOptions) => ({
  ...{ hourly, monthly, suspended_hourly: suspendedHourly, suspended_monthly: suspendedMonthly },
});

const pathOf = (id: string): string => `/admin/plans/${segment(id)}/prices`;

const rowOf = ({ from, hourly, monthly, suspended_hourly, suspended_monthly }: Price) => ({
  ...{ from, hourly, monthly },
  "suspended hourly": suspended_hourly,
  "suspended monthly": suspended_monthly,
});
