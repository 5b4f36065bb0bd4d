import type { GlobalGrant } from "@moorage/contract";
import { type Command, InvalidArgumentError, Option } from "commander";
import { Refused } from "./admin-client.ts";
import { segment } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import { type Output, tableOf } from "./output.ts";

type Grants = {
  username: string;
  restricted: boolean;
  global: Record<GlobalGrant, boolean>;
  database: { id: number; label: string; permissions: string }[];
};
type DatabaseGrant = { id: number; permissions: "read_only" | "read_write" | null };

const globalGrants: GlobalGrant[] = ["account_read", "account_write", "add_databases", "add_images"];
const pathOf = (account: string, username: string): string =>
  `/admin/accounts/${segment(account)}/users/${segment(username)}/grants`;

export function grantCommands(user: Command, output: Output): void {
  const grants = user.command("grants").description("what a restricted user may do");

  grants
    .command("show <account> <username>")
    .description("what a user holds: for the whole account, and on single databases")
    .action(async (account: string, username: string) => {
      const held = await adminClient().get<Grants>(pathOf(account, username));
      output.said(held, inWords(held));
    });

  grants
    .command("set <account> <username>")
    .description("give and take grants; what is not named stays")
    .addOption(new Option("--allow <grant...>", "give for the whole account").choices(globalGrants).default([], "none"))
    .addOption(new Option("--deny <grant...>", "take back").choices(globalGrants).default([], "none"))
    .addOption(
      new Option("--database <id=permission...>", "on a database: read_only, read_write or none")
        .argParser(databaseGrant)
        .default([], "none"),
    )
    .action(async (account: string, username: string, options: SetOptions) => {
      const { allow, deny, database } = options;
      const both = allow.filter((grant) => deny.includes(grant));
      if (both.length > 0) throw new Refused(`Either --allow or --deny ${both.join(", ")}, not both.`);
      if (allow.length + deny.length + database.length === 0)
        throw new Refused("Name at least one grant: --allow, --deny or --database.");
      const global = Object.fromEntries([
        ...allow.map((grant) => [grant, true] as const),
        ...deny.map((grant) => [grant, false] as const),
      ]);
      const held = await adminClient().post<Grants>(pathOf(account, username), { global, database });
      output.said(held, inWords(held));
    });
}
type SetOptions = { allow: GlobalGrant[]; deny: GlobalGrant[]; database: DatabaseGrant[] };

function databaseGrant(text: string, before: DatabaseGrant[]): DatabaseGrant[] {
  const [, id, permission] = /^(\d{1,15})=(read_only|read_write|none)$/.exec(text) ?? [];
  if (id === undefined)
    throw new InvalidArgumentError("Write the id and read_only, read_write or none: 1025=read_only");
  return [...before, { id: Number(id), permissions: permission === "none" ? null : (permission as "read_only") }];
}

function inWords({ username, restricted, global, database }: Grants): string {
  if (!restricted) return `${username} is not restricted and may do everything in the account.`;
  const held = globalGrants.filter((grant) => global[grant]);
  const databases = database.map(({ id, label, permissions }) => ({ database: id, label, permission: permissions }));
  return [
    `${username}, for the whole account: ${held.join(", ") || "nothing"}.`,
    databases.length === 0 ? "On single databases: nothing." : tableOf(databases),
  ].join("\n");
}
