import type { Command } from "commander";
import { wholeNumber } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";

type Recovered = {
  epoch: number;
  hosts: number;
  kept: number;
  adopted: string[];
  deleted: string[];
  missing: string[];
  orphans: string[];
};

export function recoverCommand(program: Command, output: Output): void {
  program
    .command("recover")
    .description("after the control plane's database was restored from a backup: bring it and the hosts together")
    .option("--wait <seconds>", "how long to wait for the hosts' reports", wholeNumber, 30)
    .option("--without <host...>", "hosts that are lost and cannot report", [])
    .action(async (options: { wait: number; without: string[] }) => {
      const found = await adminClient().post<Recovered>("/admin/recover", {
        wait_seconds: options.wait,
        without: options.without,
      });
      output.printResult(found, inWords(found));
    });
}

const inWords = (found: Recovered): string =>
  [
    `Epoch ${found.epoch}. ${found.hosts} hosts reported; ${found.kept} nodes were known and go on.`,
    ...part("Databases that were created since the backup, adopted (their passwords are new):", found.adopted),
    ...part("Databases that were deleted since the backup, deleted:", found.deleted),
    ...part("Databases whose host does not have them. Nothing was made in their place; restore them:", found.missing),
    ...part(
      "On hosts, but of an account or plan that is not known any more, or replaced since. Left running:",
      found.orphans,
    ),
  ].join("\n");

const part = (heading: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [heading, ...lines.map((line) => `  ${line}`)];
