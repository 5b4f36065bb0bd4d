import type { Text } from "@moorage/contract/texts";
import type { Command } from "commander";
import { wholeNumber } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";
import { texts } from "./texts.ts";

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
    .description("Reconcile the control plane with its hosts after PostgreSQL was restored from a backup")
    .option("--wait <seconds>", "time to wait for the reports of the hosts, in seconds", wholeNumber, 30)
    .option("--without <host...>", "names of lost hosts, which are not waited for", [])
    .action(async (options: { wait: number; without: string[] }) => {
      const found = await adminClient().post<Recovered>("/admin/recover", {
        wait_seconds: options.wait,
        without: options.without,
      });
      output.printResult(found, recoveredText(found));
    });
}

const recoveredText = (found: Recovered): string =>
  [
    texts.recovered(found).text,
    ...part(texts.recoveredAdopted(), found.adopted),
    ...part(texts.recoveredDeleted(), found.deleted),
    ...part(texts.recoveredMissing(), found.missing),
    ...part(texts.recoveredOrphans(), found.orphans),
  ].join("\n");

const part = (heading: Text, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : [heading.text, ...lines.map((line) => `  ${line}`)];
