import type { GlobalGrant } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import { Command, InvalidArgumentError, Option } from "commander";
import { texts } from "../accounts/texts.ts";
import { tableOf } from "../output.ts";
import { Refused } from "../refused.ts";
import { idAsTyped } from "./admin-client.ts";
import { type AdminCommand, type AdminDeps, define } from "./admin-command.ts";

/** Users with their grants and tokens. */
export const userCommands: readonly AdminCommand[] = [
  define({
    words: "user create",
    operation: contract.saveUser,
    arguments: ["username"],
    presets: { restricted: false },
    print: ({ username, restricted }, { accountId: account = "" }) =>
      (restricted ? texts.restrictedUserSaved : texts.unrestrictedUserSaved)({ account, username }),
  }),
  define({
    words: "user list",
    operation: contract.listUsers,
    list: ["id", "username", "email", "restricted", "created"],
    empty: ({ accountId: account = "" }) => texts.noUsers({ account }),
  }),
  define({
    words: "user password-link",
    operation: contract.createPasswordLink,
    print: (made) => texts.passwordLink(made),
  }),
  define({
    words: "user two-factor-off",
    operation: contract.turnOffTwoFactor,
    print: ({ username }) => texts.twoFactorOff({ username }),
  }),
  define({ words: "user grants show", operation: contract.viewGrants, print: grantsText }),
  define({
    words: "token create",
    operation: contract.createToken,
    options: { scopes: "scope" },
    print: ({ id, token }) => texts.tokenCreated({ id, token }),
  }),
  define({
    words: "token list",
    operation: contract.listTokens,
    list: ({ id, username, label, prefix, scopes, created, expires, revoked }) => ({
      id,
      user: username,
      label,
      prefix,
      scopes: scopes.join(" "),
      created,
      expires,
      revoked,
    }),
    empty: ({ accountId: account = "" }) => texts.noTokens({ account }),
  }),
  define({ words: "token revoke", operation: contract.revokeToken, print: (revoked) => texts.tokenRevoked(revoked) }),
];

type EntityGrant = { id: number; permissions: "read_only" | "read_write" | null };
type SetOptions = { allow: GlobalGrant[]; deny: GlobalGrant[]; database: EntityGrant[]; compute: EntityGrant[] };

const globalGrants: GlobalGrant[] = ["account_read", "account_write", "add_databases", "add_images"];

/** Grants are lists of objects in the interface, and short texts here. */
export const setGrantsCommand = ({ client, output }: AdminDeps): Command =>
  new Command("set")
    .description(contract.setGrants.summary)
    .argument("<account>")
    .argument("<username>")
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
      const params = { accountId: idAsTyped(account), username };
      const held = await client().call(contract.setGrants, { params, body: { global, database, compute } });
      output.printResult(held, grantsText(held));
    });

function entityGrant(text: string, before: EntityGrant[]): EntityGrant[] {
  const [, id, permission] = /^(\d{1,15})=(read_only|read_write|none)$/.exec(text) ?? [];
  if (id === undefined) throw new InvalidArgumentError(texts.grantInvalid().text);
  return [...before, { id: Number(id), permissions: permission === "none" ? null : (permission as "read_only") }];
}

function grantsText({ username, restricted, global, database, compute }: contract.Grants): string {
  if (!restricted) return texts.userUnrestricted({ username }).text;
  const held = globalGrants.filter((grant) => global[grant]);
  const on = (kind: string, grants: contract.Grants["database"]) =>
    grants.map(({ id, label, permissions }) => ({ [kind]: id, label, permission: permissions }));
  return [
    texts.accountGrants({ username, grants: held }).text,
    ...(compute.length === 0 ? [] : [tableOf(on("compute", compute))]),
    database.length === 0 ? texts.noDatabaseGrants().text : tableOf(on("database", database)),
  ].join("\n");
}
