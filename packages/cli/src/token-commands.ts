import type { Command } from "commander";
import { texts } from "./accounts/texts.ts";
import { segment } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import type { Output } from "./output.ts";

type Token = {
  id: number;
  username: string;
  label: string;
  prefix: string;
  scopes: string[];
  created: string;
  expires: string | null;
  revoked: string | null;
};

export function tokenCommands(program: Command, output: Output): void {
  const token = program.command("token").description("Manage the API tokens of users");

  token
    .command("create <account> <username>")
    .description("Create a token and print it once. Repeating the command creates another token.")
    .requiredOption("--label <name>", "label of the token, such as its purpose")
    .requiredOption("--scope <scope...>", "scopes, such as databases:read_write events:read_only, or '*' for all")
    .option("--expires <time>", "expiry in UTC, such as 2030-01-31T00:00:00 (default: never)")
    .action(
      async (account: string, username: string, options: { label: string; scope: string[]; expires?: string }) => {
        const path = `/admin/accounts/${segment(account)}/users/${segment(username)}/tokens`;
        const { label, scope: scopes, expires = null } = options;
        const issued = await adminClient().post<Token & { token: string }>(path, { label, scopes, expires });
        output.printResult(issued, texts.tokenCreated({ id: issued.id, token: issued.token }));
      },
    );

  token
    .command("list <account>")
    .description("List the tokens of an account with their first characters")
    .action(async (account: string) => {
      const tokens = await adminClient().all<Token>(`/admin/accounts/${segment(account)}/tokens`);
      output.list(tokens, rowOf, texts.noTokens({ account }));
    });

  token
    .command("revoke <account> <token>")
    .description("Revoke a token by its id. Every process refuses it within 1 s.")
    .action(async (account: string, id: string) => {
      const path = `/admin/accounts/${segment(account)}/tokens/${segment(id)}/revoke`;
      const revoked = await adminClient().post<Token>(path, {});
      output.printResult(revoked, texts.tokenRevoked(revoked));
    });
}

const rowOf = ({ id, username, label, prefix, scopes, created, expires, revoked }: Token) => ({
  id,
  user: username,
  label,
  prefix,
  scopes: scopes.join(" "),
  created,
  expires,
  revoked,
});
