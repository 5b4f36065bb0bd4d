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
      output.printResult(reply, inWords(reply));
    });

  database
    .command("bootstrap <id>")
    .description("bootstrap the replication group of a three-node database that does not start by itself")
    .option("--accept-loss", "without nodes whose hosts are dead: what only they had is lost")
    .action(async (id: string, { acceptLoss }: { acceptLoss?: true }) => {
      const reply = await adminClient().post<BootstrapReply>(`/admin/databases/${segment(id)}/bootstrap`, {
        accept_loss: acceptLoss === true,
      });
      const next =
        reply.primary === undefined
          ? `begins with the node that has the most, as soon as ${reply.waits_for.join(", ")} have said what they have.`
          : `is led by node ${reply.primary} alone, until others follow it.${leftOut(reply)}`;
      output.printResult(reply, `Database ${reply.label} (${reply.id}) ${next}`);
    });

  database
    .command("lost-transactions <id>")
    .description("list transactions lost in failovers of an asynchronous database (kept for 7 days)")
    .action(async (id: string) => {
      const lostTransactions = await adminClient().all<LostTransactions>(
        `/admin/databases/${segment(id)}/lost-transactions`,
      );
      output.list(lostTransactions, rowOfLostTransactions, "Nothing was lost to it in the last week.");
    });
}

const leftOut = ({ left_out = 0 }: BootstrapReply): string =>
  left_out === 0
    ? ""
    : ` It goes on without ${left_out} transactions that its backups have: a fork to a time before has them.`;

const inWords = ({ id, account, label, status, data_until }: Undeleted): string =>
  data_until === null
    ? `Database ${label} (${id}) is not deleted. It is ${status}.`
    : [
        `Database ${label} (${id}) of account ${account} is ${status}, with its data of ${data_until} UTC, the same password and the same names.`,
        `Restricted users lost their grants on it when it was deleted. Give them again with: moorage user grants set --help`,
      ].join("\n");

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
