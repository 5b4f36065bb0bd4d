import type { Command } from "commander";
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
  const tax = program.command("tax").description("what is added to bills, by where an account is");

  tax
    .command("set <country> <name>")
    .description("a tax of a country, such as DE VAT, or another rate of it from a time on")
    .requiredOption("--percent <number>", "with at most 4 decimals, such as 9.975")
    .option("--state <code>", "of a state only, such as QC")
    .option("--from <time>", "in UTC, such as 2027-01-01T00:00:00; now, if left out")
    .option("--waived-by-tax-id", "an account that gives its tax id accounts for this tax itself")
    .action(
      async (
        country: string,
        name: string,
        { waivedByTaxId, ...options }: { percent: string; state?: string; from?: string; waivedByTaxId?: true },
      ) => {
        const body = { country, name, ...options, waived_by_tax_id: waivedByTaxId };
        const saved = await adminClient().post<Tax>(TAXES, body);
        output.printResult(saved, `${name} in ${placeOf(saved)} from ${saved.from}: ${saved.percent} %.`);
      },
    );

  tax
    .command("end <country> <name>")
    .description("from a time on there is no such tax; rates that were to come are dropped")
    .option("--state <code>", "of a state only")
    .option("--at <time>", "in UTC, such as 2027-01-01T00:00:00; now, if left out")
    .action(async (country: string, name: string, options: { state?: string; at?: string }) => {
      const ended = await adminClient().post<{ data: Tax[] }>(`${TAXES}/end`, { country, name, ...options });
      const last = ended.data.at(-1);
      output.printResult(
        ended.data,
        last === undefined ? `${name} is not to come any more.` : `${name} in ${placeOf(last)} ends at ${last.until}.`,
      );
    });

  tax
    .command("list")
    .description("every rate: past, in force, to come")
    .action(async () => {
      const rates = await adminClient().all<Tax>(TAXES);
      output.list(rates, rowOf, "No tax yet: bills have none. Set one with: moorage tax set --help");
    });
}

const placeOf = ({ country, state }: Tax): string => (state === "" ? country : `${state}, ${country}`);

const rowOf = ({ country, state, name, percent, from, until, waived_by_tax_id }: Tax) => ({
  ...{ country, state, name, percent, from, until },
  "waived by tax id": waived_by_tax_id,
});
