import * as contract from "@moorage/contract/operator";
import { Command } from "commander";
import { texts } from "../texts.ts";
import { type AdminCommand, type AdminDeps, define } from "./admin-command.ts";

export const databaseCommands: readonly AdminCommand[] = [
  define({
    words: "db undelete",
    operation: contract.undeleteDatabase,
    print: ({ data_until: until, ...database }) =>
      until === null ? texts.databaseNotDeleted(database) : texts.databaseUndeleted({ ...database, until }),
  }),
  define({
    words: "db bootstrap",
    operation: contract.bootstrapDatabase,
    print: ({ id, label, waits_for, primary, left_out = 0 }) => {
      if (primary === undefined) return texts.bootstrapWaits({ label, id, hosts: waits_for });
      const started = texts.bootstrapPrimary({ label, id, node: primary });
      const leftOut = left_out === 0 ? [] : [texts.bootstrapLeftOut({ transactions: left_out })];
      return [started, ...leftOut].map(({ text }) => text).join(" ");
    },
  }),
  define({
    words: "db lost-transactions",
    operation: contract.listLostTransactions,
    list: ({ node, transactions, bytes, saved, kept_until, object }) => ({
      node,
      transactions,
      bytes,
      saved,
      "kept until": kept_until,
      object,
    }),
    empty: texts.noLostTransactions(),
  }),
];

/** Two operations: the deleted databases have other fields. */
export const databaseListCommand = ({ client, output }: AdminDeps): Command =>
  new Command("list")
    .description(contract.listDatabases.summary)
    .option("--deleted", "list deleted databases that can be undeleted, and until when")
    .action(async ({ deleted }: { deleted?: true }) => {
      const operation = deleted === true ? contract.listDeletedDatabases : contract.listDatabases;
      const found = await client().all(operation, {});
      if (deleted === true) output.list(found as contract.DeletedDatabase[], rowOfDeleted, texts.noDeletedDatabases());
      else output.list(found as contract.Database[], rowOf, texts.noDatabases());
    });

const rowOf = ({ id, account, label, region, plan, nodes, engine, status, advice }: contract.Database) => ({
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

const rowOfDeleted = ({ id, account, label, deleted, data_until, undelete_until }: contract.DeletedDatabase) => ({
  id,
  account,
  label,
  deleted,
  "data until": data_until,
  "can be undeleted until": undelete_until,
});
