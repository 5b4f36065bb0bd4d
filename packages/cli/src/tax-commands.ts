import type { Command } from "commander";
import { texts } from "./billing/texts.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";

type Tax = {
  country: string;
  state: string;
  name: string;
  percent: string;
  from: string;
  until: string | null;
  waived_by_tax_id: boolean;
};

const TAXES = "/admin/taxes";

export function taxCommands(program: Command, output: Output): void {
  const tax = program.command("tax").description("Manage the taxes on invoices by country and state");

  tax
    .command("set <country> <name>")
    .description("Set the rate of a tax, such as DE VAT, from a time on")
    .requiredOption("--percent <number>", "rate in percent with at most 4 decimals, such as 9.975")
    .option("--state <code>", "state to which the tax is limited, such as QC")
    .option("--from <time>", "start in UTC, such as 2027-01-01T00:00:00 (default: now)")
    .option("--waived-by-tax-id", "do not charge accounts that have a tax id")
    .action(
      async (
        country: string,
        name: string,
        { waivedByTaxId, ...options }: { percent: string; state?: string; from?: string; waivedByTaxId?: true },
      ) => {
        const body = { country, name, ...options, waived_by_tax_id: waivedByTaxId };
        const saved = await adminClient().post<Tax>(TAXES, body);
        output.printResult(saved, texts.taxSaved({ ...saved, name, place: placeOf(saved) }));
      },
    );

  tax
    .command("end <country> <name>")
    .description("End a tax at a time and delete its later rates")
    .option("--state <code>", "state to which the tax is limited")
    .option("--at <time>", "end in UTC, such as 2027-01-01T00:00:00 (default: now)")
    .action(async (country: string, name: string, options: { state?: string; at?: string }) => {
      const ended = await adminClient().post<{ data: Tax[] }>(`${TAXES}/end`, { country, name, ...options });
      const last = ended.data.at(-1);
      const result =
        last === undefined
          ? texts.taxDeleted({ name })
          : texts.taxEnded({ name, place: placeOf(last), until: String(last.until) });
      output.printResult(ended.data, result);
    });

  tax
    .command("list")
    .description("List the former, current and future rates of all taxes")
    .action(async () => {
      const rates = await adminClient().all<Tax>(TAXES);
      output.list(rates, rowOf, texts.noTaxes());
    });
}

const placeOf = ({ country, state }: Tax): string => (state === "" ? country : `${state}, ${country}`);

const rowOf = ({ country, state, name, percent, from, until, waived_by_tax_id }: Tax) => ({
  country,
  state,
  name,
  percent,
  from,
  until,
  "waived by tax id": waived_by_tax_id,
});
