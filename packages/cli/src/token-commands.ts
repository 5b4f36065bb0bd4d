import type { Command } from "commander";
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
  const token = program.command("token").description("what users prove themselves with");

  token
    .command("create <account> <username>")
    .description("make a token and show it, this once; said again, it makes another one")
    .requiredOption("--label <name>", "what it is for")
    .requiredOption("--scope <scope...>", "such as databases:read_write or events:read_only; '*' is everything")
    .option("--expires <time>", "in UTC, such as 2030-01-31T00:00:00; without it, never")
    .action(
      async (account: string, username: string, options: { label: string; scope: string[]; expires?: string }) => {
        const path = `/admin/accounts/${segment(account)}/users/${segment(username)}/tokens`;
        const { label, scope: scopes, expires = null } = options;
        const issued = await adminClient().post<Token & { token: string }>(path, { label, scopes, expires });
        output.printResult(issued, `Token ${issued.id}. It is shown this once:\n${issued.token}`);
      },
    );

  token
    .command("list <account>")
    .description("every token of an account, by its first characters")
    .action(async (account: string) => {
      const tokens = await adminClient().all<Token>(`/admin/accounts/${segment(account)}/tokens`);
      output.list(tokens, rowOf, `No token yet. Make one with: moorage token create ${account} <username> --help`);
    });

  token
    .command("revoke <account> <token>")
    .description("end a token, by its id in the list; it is dead everywhere within a second")
    .action(async (account: string, id: string) => {
      const path = `/admin/accounts/${segment(account)}/tokens/${segment(id)}/revoke`;
      const revoked = await adminClient().post<Token>(path, {});
      output.printResult(revoked, `Token ${revoked.id} (${revoked.label}, of ${revoked.username}) is revoked.`);
    });
}

const rowOf = ({ id, username, label, prefix, scopes, created, expires, revoked }: Token) => ({
  id,
  user: username,
  label,
  "begins with": prefix,
  scopes: scopes.join(" "),
  created,
  expires,
  revoked,
});
