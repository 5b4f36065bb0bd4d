import { Command } from "commander";
import { Refused } from "../refused.ts";
import type { Output } from "../output.ts";
import type { Terminal } from "../terminal.ts";
import { readProfiles, writeProfiles } from "./profile-store.ts";
import { texts } from "./texts.ts";

export type ProfileDeps = { terminal: Terminal; output: Output; profileName: () => string | undefined };

export function profileCommand({ terminal, output }: ProfileDeps): Command {
  const group = new Command("profile").description("Manage profiles, the installations and users that you sign in to");
  group
    .command("list")
    .description("List all profiles")
    .action(() => {
      const { current, profiles } = readProfiles(terminal.env);
      const rows = Object.entries(profiles).map(([name, { url, token }]) => ({
        name,
        url,
        token: token === undefined ? "in the keychain" : "in the file",
        used: name === current,
      }));
      output.list(rows, ({ used, ...row }) => ({ ...row, current: used }), texts.none());
    });
  group
    .command("use <name>")
    .description("Select the profile that commands use")
    .action((name: string) => {
      const known = readProfiles(terminal.env);
      if (known.profiles[name] === undefined) throw new Refused(texts.unknown({ name }));
      writeProfiles(terminal.env, { ...known, current: name });
      output.printResult({ profile: name }, texts.selected({ name }));
    });
  return group;
}
