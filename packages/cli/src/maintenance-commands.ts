import { type Command, Option } from "commander";
import { segment } from "./arguments.ts";
import { texts } from "./compute/texts.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";

type Maintenance = {
  id: number;
  account: number;
  compute: number;
  label?: string;
  type: string;
  status: string;
  when: string;
  reason: string;
};

const MAINTENANCE = "/admin/maintenance";

export function maintenanceCommands(program: Command, output: Output): void {
  const maintenance = program.command("maintenance").description("Manage the maintenance of compute instances");

  maintenance
    .command("schedule <compute>")
    .description("Schedule maintenance. Repeating the command with the same type changes time and reason.")
    .addOption(
      new Option("--type <kind>", "kind of the work")
        .choices(["reboot", "cold_migration", "live_migration"])
        .makeOptionMandatory(),
    )
    .requiredOption("--when <time>", "time in UTC, such as 2030-01-31T00:00:00")
    .requiredOption("--reason <text>", "reason, for the users of the instance")
    .action(async (compute: string, options: { type: string; when: string; reason: string }) => {
      const path = `/admin/computes/${segment(compute)}/maintenance`;
      const saved = await adminClient().post<Maintenance>(path, options);
      output.printResult(saved, texts.maintenanceScheduled({ ...saved, label: saved.label ?? compute }));
    });

  const step = (verb: string, description: string): void => {
    maintenance
      .command(`${verb} <id>`)
      .description(description)
      .action(async (id: string) => {
        const saved = await adminClient().post<Maintenance>(`${MAINTENANCE}/${segment(id)}/${verb}`, {});
        output.printResult(saved, texts.maintenanceChanged(saved));
      });
  };
  step("start", "Mark maintenance as started");
  step("complete", "Mark maintenance as completed. Users see it for 7 more days.");
  step("cancel", "Cancel maintenance. Users do not see it any more.");

  maintenance
    .command("list")
    .description("List scheduled and started maintenance")
    .option("--all", "list completed and canceled maintenance too")
    .action(async ({ all }: { all?: true }) => {
      const found = await adminClient().all<Maintenance>(all === true ? `${MAINTENANCE}?all=yes` : MAINTENANCE);
      output.list(found, rowOf, texts.noMaintenance());
    });
}

const rowOf = ({ id, account, compute, label = "", type, status, when, reason }: Maintenance) => ({
  id,
  account,
  compute,
  label,
  type,
  status,
  when,
  reason,
});
