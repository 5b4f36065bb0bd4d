import type { Command } from "commander";
import { segment } from "./arguments.ts";
import { texts } from "./catalogue/texts.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";

type Price = { from: string; hourly: string; monthly: string; suspended_hourly: string; suspended_monthly: string };
type PriceOptions = { hourly: string; monthly: string; suspendedHourly?: string; suspendedMonthly?: string };

/** Prices of a plan, current and former. */
export function priceCommands(plan: Command, output: Output): void {
  plan
    .command("price <id>")
    .description("Set the price of a node of a plan from a full hour on. Earlier usage keeps its price.")
    .requiredOption("--hourly <dollars>", "price per hour with at most 6 decimals, such as 0.0225")
    .requiredOption("--monthly <dollars>", "maximum price per month, such as 15")
    .option("--suspended-hourly <dollars>", "price per hour while the database is suspended (default: 0)")
    .option("--suspended-monthly <dollars>", "maximum price per month while the database is suspended")
    .option("--from <time>", "full hour in UTC, such as 2026-12-01T00:00:00 (default: the next full hour)")
    .action(async (id: string, { from, ...options }: PriceOptions & { from?: string }) => {
      const saved = await adminClient().post<Price>(pathOf(id), { ...priceIn(options), from });
      output.printResult(saved, texts.priceSaved({ id, ...saved }));
    });
  plan
    .command("prices <id>")
    .description("List the former, current and future prices of a plan")
    .action(async (id: string) => {
      const prices = await adminClient().all<Price>(pathOf(id));
      output.list(prices, rowOf, texts.noPrices({ id }));
    });
}

export const priceIn = ({ hourly, monthly, suspendedHourly, suspendedMonthly }: PriceOptions) => ({
  hourly,
  monthly,
  suspended_hourly: suspendedHourly,
  suspended_monthly: suspendedMonthly,
});

const pathOf = (id: string): string => `/admin/plans/${segment(id)}/prices`;

const rowOf = ({ from, hourly, monthly, suspended_hourly, suspended_monthly }: Price) => ({
  from,
  hourly,
  monthly,
  "suspended hourly": suspended_hourly,
  "suspended monthly": suspended_monthly,
});
