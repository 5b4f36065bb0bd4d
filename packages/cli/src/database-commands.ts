import type { Text } from "@moorage/contract/texts";
import type { Command } from "commander";
import { segment } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";
import { texts } from "./texts.ts";

type Database = {
  id: number;
  account: number;
  label: string;
  region: string;
  plan: string;
  nodes: number;
  engine: string;
  status: string;
  advice: string | null;
};
type Deleted = {
  id: number;
  account: number;
  label: string;
  deleted: string;
  data_until: string;
  undelete_until: string;
};
type BootstrapReply = { id: number; label: string; waits_for: string[]; primary?: number; left_out?: number };
type LostTransactions = {
  name: string;
  timeline: string;
  node: number;
  transactions: number;
  bytes: number;
  saved: string;
  kept_until: string;
  object: string;
};
type Undeleted = { id: number; account: number; label: string; status: string; data_until: string | null };

export function databaseCommands(program: Command, output: Output): void {
  const database = program.command("db").description("Manage the databases of all tenants");

  database
    .command("list")
    .description("List all databases with their status and warnings")
    .option("--deleted", "list deleted databases that can be undeleted, and until when")
    .action(async ({ deleted }: { deleted?: true }) => {
      const client = adminClient();
      if (deleted === true)
        output.list(await client.all<Deleted>("/admin/deleted-databases"), rowOfDeleted, texts.noDeletedDatabases());
      else output.list(await client.all<Database>("/admin/databases"), rowOf, texts.noDatabases());
    });

  database
    .command("undelete <id>")
    .description("Restore a deleted database on new nodes from its last archived data")
    .action(async (id: string) => {
      const reply = await adminClient().post<Undeleted>(`/admin/databases/${segment(id)}/undelete`, {});
      output.printResult(reply, undeletedText(reply));
    });

  database
    .command("bootstrap <id>")
    .description("Bootstrap the replication group of a three-node database that does not start by itself")
    .option("--accept-loss", "continue without nodes on dead hosts; transactions that only they have are lost")
    .action(async (id: string, { acceptLoss }: { acceptLoss?: true }) => {
      const reply = await adminClient().post<BootstrapReply>(`/admin/databases/${segment(id)}/bootstrap`, {
        accept_loss: acceptLoss === true,
      });
      output.printResult(reply, bootstrappedText(reply));
    });

  database
    .command("lost-transactions <id>")
    .description("List transactions lost in failovers of an asynchronous database in the last 7 days")
    .action(async (id: string) => {
      const lostTransactions = await adminClient().all<LostTransactions>(
        `/admin/databases/${segment(id)}/lost-transactions`,
      );
      output.list(lostTransactions, rowOfLostTransactions, texts.noLostTransactions());
    });
}

function bootstrappedText({ id, label, waits_for, primary, left_out = 0 }: BootstrapReply): string {
  if (primary === undefined) return texts.bootstrapWaits({ label, id, hosts: waits_for }).text;
  const started = texts.bootstrapPrimary({ label, id, node: primary });
  const leftOut = left_out === 0 ? [] : [texts.bootstrapLeftOut({ transactions: left_out })];
  return [started, ...leftOut].map(({ text }) => text).join(" ");
}

const undeletedText = ({ data_until, ...database }: Undeleted): Text =>
  data_until === null
    ? texts.databaseNotDeleted(database)
    : texts.databaseUndeleted({ ...database, until: data_until });

const rowOf = ({ id, account, label, region, plan, nodes, engine, status, advice }: Database) => ({
  id,
  account,
  label,
  region,
  plan,
  nodes,
  engine,
  status,
  warnings: advice ?? "",
});

const rowOfLostTransactions = ({ node, transactions, bytes, saved, kept_until, object }: LostTransactions) => ({
  node,
  transactions,
  bytes,
  saved,
  "kept until": kept_until,
  object,
});

const rowOfDeleted = ({ id, account, label, deleted, data_until, undelete_until }: Deleted) => ({
  id,
  account,
  label,
  deleted,
  "data until": data_until,
  "can be undeleted until": undelete_until,
});
