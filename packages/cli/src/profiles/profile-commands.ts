import { resolve } from "node:path";
import { createClient } from "@moorage/client";
import { viewProfile } from "@moorage/contract";
import { Command } from "commander";
import { Refused } from "../admin-client.ts";
import type { Output } from "../output.ts";
import type { Terminal } from "../terminal.ts";
import { trust } from "./connection.ts";
import { keychainOf } from "./keychain.ts";
import { type Profile, profilesFile, readProfiles, writeProfiles } from "./profile-store.ts";

type Deps = { terminal: Terminal; output: Output; profileName: () => string | undefined };

export const profileCommands = (deps: Deps): Command[] => [login(deps), logout(deps), profile(deps)];

function login({ terminal, output, profileName }: Deps): Command {
  const { env } = terminal;
  return new Command("login")
    .description("keep the API's address and your token, under the name of --profile; the token is asked for")
    .option("--url <url>", "the API's address, such as https://api.example.com; needed the first time")
    .option("--ca <file>", "the authority that signs its certificate, if your system does not know it")
    .action(async ({ url, ca }: { url?: string; ca?: string }) => {
      const { profiles } = readProfiles(env);
      const name = profileName() ?? "default";
      const known = profiles[name];
      const address = url ?? known?.url;
      if (address === undefined || !URL.canParse(address))
        throw new Refused("Say where: moorage login --url https://<the API's address>");
      const file = ca === undefined ? known?.ca : resolve(ca);
      trust(file);
      const token = await terminal.secret("Token, which is not shown (me token create makes one): ");
      if (token === "") throw new Refused("No token was given.");
      const { username } = await createClient({ url: address, token }).call(viewProfile);

      const keychain = keychainOf(env);
      const isKept = await keychain.keep(name, token);
      const saved: Profile = { url: address, ...(file && { ca: file }), ...(isKept ? {} : { token }) };
      writeProfiles(env, { current: name, profiles: { ...profiles, [name]: saved } });
      const place = isKept
        ? `The token is in ${keychain.name}.`
        : `This system has no keychain that would take the token: it is in ${profilesFile(env)}, which only you can read.`;
      output.said(
        { profile: name, url: address, username, in_keychain: isKept },
        `You are ${username} at ${address}, as the profile ${name}. ${place}\nNext: moorage`,
      );
    });
}

function logout({ terminal, output, profileName }: Deps): Command {
  return new Command("logout")
    .description("forget a profile and its token; the token itself stays valid: me token delete ends it")
    .action(async () => {
      const { env } = terminal;
      const { current, profiles } = readProfiles(env);
      const name = profileName() ?? current;
      if (name === undefined || profiles[name] === undefined) throw new Refused("There is no such profile.");
      await keychainOf(env).forget(name);
      const { [name]: _, ...rest } = profiles;
      writeProfiles(env, { ...(current === name || current === undefined ? {} : { current }), profiles: rest });
      output.said({ profile: name }, `The profile ${name} is forgotten.`);
    });
}

function profile({ terminal, output }: Deps): Command {
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
      output.said({ profile: name }, `The profile ${name} is in use.`);
    });
  return group;
}
