import type { Command } from "commander";
import { texts } from "./accounts/texts.ts";
import { segment } from "./arguments.ts";
import { adminClient } from "./environment.ts";
import { grantCommands } from "./grant-commands.ts";
import type { Output } from "./output.ts";

type User = { id: number; username: string; email: string; restricted: boolean; created: string };
type UserOptions = { email: string; restricted?: boolean };

export function userCommands(program: Command, output: Output): void {
  const user = program.command("user").description("Manage the users of accounts");

  user
    .command("create <account> <username>")
    .description("Create a user. Repeating the command with the same name changes e-mail address and restriction.")
    .requiredOption("--email <address>", "e-mail address of the user")
    .option("--restricted", "permit only what is granted (default: everything in the account)")
    .action(async (account: string, username: string, { email, restricted = false }: UserOptions) => {
      const path = `/admin/accounts/${segment(account)}/users`;
      const saved = await adminClient().post<User>(path, { username, email, restricted });
      const result = saved.restricted ? texts.restrictedUserSaved : texts.unrestrictedUserSaved;
      output.printResult(saved, result({ account, username }));
    });

  user
    .command("list <account>")
    .description("List the users of an account")
    .action(async (account: string) => {
      const users = await adminClient().all<User>(`/admin/accounts/${segment(account)}/users`);
      output.list(
        users,
        ({ id, username, email, restricted, created }) => ({ id, username, email, restricted, created }),
        texts.noUsers({ account }),
      );
    });

  user
    .command("password-link <account> <username>")
    .description("Create and print a one-time link with which a user sets a password, if no mail can be sent")
    .action(async (account: string, username: string) => {
      const path = `/admin/accounts/${segment(account)}/users/${segment(username)}/password-link`;
      const made = await adminClient().post<{ link: string; expires: string }>(path, {});
      output.printResult(made, texts.passwordLink({ username, ...made }));
    });

  user
    .command("two-factor-off <account> <username>")
    .description("Turn off two-factor sign-in of a user who lost the authenticator and the scratch codes")
    .action(async (account: string, username: string) => {
      const path = `/admin/accounts/${segment(account)}/users/${segment(username)}/two-factor/off`;
      const done = await adminClient().post<{ username: string }>(path, {});
      output.printResult(done, texts.twoFactorOff({ username }));
    });

  grantCommands(user, output);
}
