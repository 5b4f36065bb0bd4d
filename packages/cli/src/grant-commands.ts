import type { GlobalGrant } from "@moorage/contract";
import { type Command, InvalidArgumentError, Option } from "commander";
import { texts } from "./accounts/texts.ts";
import { Refused } from "./admin-client.ts";
import { segment } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import { type Output, tableOf } from "./output.ts";

type Grants = {
  username: string;
  restricted: boolean;
  global: Record<GlobalGrant, boolean>;
  database: Held[];
  compute: Held[];
};
type Held = { id: number; label: string; permissions: string };
type EntityGrant = { id: number; permissions: "read_only" | "read_write" | null };

const globalGrants: GlobalGrant[] = ["account_read", "account_write", "add_databases", "add_images"];
const pathOf = (account: string, username: string): string =>
  `/admin/accounts/${segment(account)}/users/${segment(username)}/grants`;

export function grantCommands(user: Command, output: Output): void {
  const grants = user.command("grants").description("Manage the grants of a restricted user");

  grants
    .command("show <account> <username>")
    .description("Show the grants of a user on the account, on databases and on compute instances")
    .action(async (account: string, username: string) => {
      const held = await adminClient().get<Grants>(pathOf(account, username));
      output.printResult(held, grantsText(held));
    });

  grants
    .command("set <account> <username>")
    .description("Change the named grants of a user and keep the others")
    .addOption(new Option("--allow <grant...>", "grant on the whole account").choices(globalGrants).default([], "none"))
    .addOption(new Option("--deny <grant...>", "revoke on the whole account").choices(globalGrants).default([], "none"))
    .addOption(
      new Option("--database <id=permission...>", "set on a database: read_only, read_write or none")
        .argParser(entityGrant)
        .default([], "none"),
    )
    .addOption(
      new Option("--compute <id=permission...>", "set on a compute instance: read_only, read_write or none")
        .argParser(entityGrant)
        .default([], "none"),
    )
    .action(async (account: string, username: string, options: SetOptions) => {
      const { allow, deny, database, compute } = options;
      const both = allow.filter((grant) => deny.includes(grant));
      if (both.length > 0) throw new Refused(texts.grantsContradict({ grants: both }));
      if (allow.length + deny.length + database.length + compute.length === 0) throw new Refused(texts.grantMissing());
      const global = Object.fromEntries([
        ...allow.map((grant) => [grant, true] as const),
        ...deny.map((grant) => [grant, false] as const),
      ]);
      const held = await adminClient().post<Grants>(pathOf(account, username), { global, database, compute });
      output.printResult(held, grantsText(held));
    });
}
type SetOptions = { allow: GlobalGrant[]; deny: GlobalGrant[]; database: EntityGrant[]; compute: EntityGrant[] };

function entityGrant(text: string, before: EntityGrant[]): EntityGrant[] {
  const [, id, permission] = /^(\d{1,15})=(read_only|read_write|none)$/.exec(text) ?? [];
  if (id === undefined) throw new InvalidArgumentError(texts.grantInvalid().text);
  return [...before, { id: Number(id), permissions: permission === "none" ? null : (permission as "read_only") }];
}

function grantsText({ username, restricted, global, database, compute }: Grants): string {
  if (!restricted) return texts.userUnrestricted({ username }).text;
  const held = globalGrants.filter((grant) => global[grant]);
  const on = (kind: string, grants: readonly Held[]) =>
    grants.map(({ id, label, permissions }) => ({ [kind]: id, label, permission: permissions }));
  return [
    texts.accountGrants({ username, grants: held }).text,
    ...(compute.length === 0 ? [] : [tableOf(on("compute", compute))]),
    database.length === 0 ? texts.noDatabaseGrants().text : tableOf(on("database", database)),
  ].join("\n");
}
