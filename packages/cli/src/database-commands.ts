import type { Command } from "commander";
import { segment } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";

type Database = {
  id: number;
  account: number;
  label: string;
  region: string;
  plan: string;
  engine: string;
  status: string;
};
type Deleted = {
  id: number;
  account: number;
  label: string;
  deleted: string;
  data_until: string;
  undelete_until: string;
};
type Undeleted = { id: number; account: number; label: string; status: string; data_until: string | null };

export function databaseCommands(program: Command, output: Output): void {
  const database = program.command("db").description("the tenants' databases");

  database
    .command("list")
    .description("every database, or those that were deleted and can be brought back")
    .option("--deleted", "deleted ones, and until when each can be brought back")
    .action(async ({ deleted }: { deleted?: true }) => {
      const client = adminClient();
      if (deleted === true)
        output.list(
          await client.all<Deleted>("/admin/deleted-databases"),
          rowOfDeleted,
          "No deleted database is kept.",
        );
      else output.list(await client.all<Database>("/admin/databases"), rowOf, "No database yet.");
    });

  database
    .command("undelete <id>")
    .description("bring a deleted database back, with its last archived data, on new nodes")
    .action(async (id: string) => {
      const reply = await adminClient().post<Undeleted>(`/admin/databases/${segment(id)}/undelete`, {});
      output.said(reply, inWords(reply));
    });
}

const inWords = ({ id, account, label, status, data_until }: Undeleted): string =>
  data_until === null
    ? `Database ${label} (${id}) is not deleted. It is ${status}.`
    : [
        `Database ${label} (${id}) of account ${account} is ${status}, with its data of ${data_until} UTC, the same password and the same names.`,
        `Restricted users lost their grants on it when it was deleted. Give them again with: moorage user grants set --help`,
      ].join("\n");

const rowOf = ({ id, account, label, region, plan, engine, status }: Database) => ({
  id,
  account,
  label,
  region,
  plan,
  engine,
  status,
});

const rowOfDeleted = ({ id, account, label, deleted, data_until, undelete_until }: Deleted) => ({
  id,
  account,
  label,
  deleted,
  "data until": data_until,
  "can be undeleted until": undelete_until,
});
