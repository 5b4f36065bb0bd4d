import type { Command } from "commander";
import { adminClient } from "./environment.ts";

type Recovered = {
  epoch: number;
  hosts: number;
  kept: number;
  adopted: string[];
  deleted: string[];
  missing: string[];
  orphans: string[];
};

export function recoverCommand(program: Command): void {
  program
    .command("recover")
    .description("after the control plane's database was restored from a backup: bring it and the hosts together")
    .option("--wait <seconds>", "how long to wait for the hosts' reports", Number, 30)
    .option("--without <host...>", "hosts that are lost and cannot report", [])
    .action(async (options: { wait: number; without: string[] }) => {
      const found = await adminClient().post<Recovered>("/admin/recover", {
        wait_seconds: options.wait,
        without: options.without,
      });
      console.log(`Epoch ${found.epoch}. ${found.hosts} hosts reported; ${found.kept} nodes were known and go on.`);
      tell("Databases that were created since the backup, adopted (their passwords are new):", found.adopted);
      tell("Databases that were deleted since the backup, deleted:", found.deleted);
      tell("Databases whose host does not have them. Nothing was made in their place; restore them:", found.missing);
      tell("On hosts, but of an account or plan that is not known any more. Left running:", found.orphans);
    });
}

function tell(heading: string, lines: readonly string[]): void {
  if (lines.length > 0) console.log([heading, ...lines.map((line) => `  ${line}`)].join("\n"));
}
