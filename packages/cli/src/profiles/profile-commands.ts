import { Command } from "commander";
import { Refused } from "../admin-client.ts";
import { loginCommand } from "../login/login-command.ts";
import { logoutCommand } from "../login/logout-command.ts";
import type { Output } from "../output.ts";
import type { Terminal } from "../terminal.ts";
import { readProfiles, writeProfiles } from "./profile-store.ts";

export type ProfileDeps = { terminal: Terminal; output: Output; profileName: () => string | undefined };

export const profileCommands = (deps: ProfileDeps): Command[] => [
  loginCommand(deps),
  logoutCommand(deps),
  profile(deps),
];

function profile({ terminal, output }: ProfileDeps): Command {
  const group = new Command("profile").description("installations that you use, and which one is in use");
  group
    .command("list")
    .description("every profile")
    .action(() => {
      const { current, profiles } = readProfiles(terminal.env);
      const rows = Object.entries(profiles).map(([name, { url, token }]) => ({
        ...{ name, url, token: token === undefined ? "in the keychain" : "in the file", used: name === current },
      }));
      output.list(rows, (row) => row, "No profile yet. Next: moorage login --url https://<the API's address>");
    });
  group
    .command("use <name>")
    .description("have the next commands go there")
    .action((name: string) => {
      const known = readProfiles(terminal.env);
      if (known.profiles[name] === undefined)
        throw new Refused(`No profile is called ${name}. See: moorage profile list`);
      writeProfiles(terminal.env, { ...known, current: name });
      output.printResult({ profile: name }, `The profile ${name} is in use.`);
    });
  return group;
}
