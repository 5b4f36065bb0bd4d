import type { Command } from "commander";
import { segment } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import { grantCommands } from "./grant-commands.ts";
import type { Output } from "./output.ts";

type User = { id: number; username: string; email: string; restricted: boolean; created: string };
type UserOptions = { email: string; restricted?: boolean };

export function userCommands(program: Command, output: Output): void {
  const user = program.command("user").description("the people of an account");

  user
    .command("create <account> <username>")
    .description("make a user; said again for the same name, it changes address and restriction")
    .requiredOption("--email <address>")
    .option("--restricted", "may do only what is granted; without it, everything in the account")
    .action(async (account: string, username: string, { email, restricted = false }: UserOptions) => {
      const path = `/admin/accounts/${segment(account)}/users`;
      const saved = await adminClient().post<User>(path, { username, email, restricted });
      const next = saved.restricted
        ? `Restricted: give grants with: moorage user grants set ${account} ${username} --help`
        : `A token: moorage token create ${account} ${username} --label <name> --scope '*'. A password: moorage user password-link ${account} ${username}`;
      output.printResult(saved, `User ${username} of account ${account}. ${next}`);
    });

  user
    .command("list <account>")
    .description("every user of an account")
    .action(async (account: string) => {
      const users = await adminClient().all<User>(`/admin/accounts/${segment(account)}/users`);
      const empty = `No user yet. Make one with: moorage user create ${account} <username> --email <address>`;
      output.list(
        users,
        ({ id, username, email, restricted, created }) => ({ id, username, email, restricted, created }),
        empty,
      );
    });

  user
    .command("password-link <account> <username>")
    .description("make a link to choose a password by, and show it, this once: to hand over where no mail arrives")
    .action(async (account: string, username: string) => {
      const path = `/admin/accounts/${segment(account)}/users/${segment(username)}/password-link`;
      const made = await adminClient().post<{ link: string; expires: string }>(path, {});
      output.printResult(
        made,
        `Whoever opens it chooses the password of ${username}. It works once, until ${made.expires} UTC:
${made.link}`,
      );
    });

  user
    .command("two-factor-off <account> <username>")
    .description("let a user sign in by password alone again, who lost the authenticator and the scratch codes")
    .action(async (account: string, username: string) => {
      const path = `/admin/accounts/${segment(account)}/users/${segment(username)}/two-factor/off`;
      const done = await adminClient().post<{ username: string }>(path, {});
      output.printResult(
        done,
        `${username} signs in by password alone, and was told so by letter. Whoever asked you for this: make sure that it was them.`,
      );
    });

  grantCommands(user, output);
}
