import { type Command, Option } from "commander";
import { segment } from "./arguments.ts";
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
  const maintenance = program
    .command("maintenance")
    .description("what is done to compute instances; their users see it, and a notification until it is over");

  maintenance
    .command("schedule <compute>")
    .description("plan it; said again for the same type before it has started, it changes time and reason")
    .addOption(
      new Option("--type <kind>", "what is done")
        .choices(["reboot", "cold_migration", "live_migration"])
        .makeOptionMandatory(),
    )
    .requiredOption("--when <time>", "in UTC, such as 2030-01-31T00:00:00")
    .requiredOption("--reason <text>", "for the users of the instance")
    .action(async (compute: string, options: { type: string; when: string; reason: string }) => {
      const path = `/admin/computes/${segment(compute)}/maintenance`;
      const saved = await adminClient().post<Maintenance>(path, options);
      const next = `When you begin: moorage maintenance start ${saved.id}`;
      output.printResult(
        saved,
        `Maintenance ${saved.id}: ${saved.type} of ${saved.label} at ${saved.when} UTC. ${next}`,
      );
    });

  const step = (verb: string, description: string): void => {
    maintenance
      .command(`${verb} <id>`)
      .description(description)
      .action(async (id: string) => {
        const saved = await adminClient().post<Maintenance>(`${MAINTENANCE}/${segment(id)}/${verb}`, {});
        output.printResult(
          saved,
          `Maintenance ${saved.id} (${saved.type} of compute ${saved.compute}) is ${saved.status}.`,
        );
      });
  };
  step("start", "it has begun");
  step("complete", "it is done; it is shown for seven days more");
  step("cancel", "it does not happen; nobody sees it any more");

  maintenance
    .command("list")
    .description("what is planned or has begun")
    .option("--all", "what is over, too")
    .action(async ({ all }: { all?: true }) => {
      const found = await adminClient().all<Maintenance>(all === true ? `${MAINTENANCE}?all=yes` : MAINTENANCE);
      output.list(found, rowOf, "No maintenance. Plan one with: moorage maintenance schedule --help");
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
