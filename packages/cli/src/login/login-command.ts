import { hostname } from "node:os";
import { resolve } from "node:path";
import { createClient } from "@moorage/client";
import { viewProfile } from "@moorage/contract";
import { Command, Option } from "commander";
import { Refused } from "../admin-client.ts";
import { trust } from "../profiles/connection.ts";
import { keychainOf } from "../profiles/keychain.ts";
import type { ProfileDeps } from "../profiles/profile-commands.ts";
import { type Profile, profilesFile, readProfiles, writeProfiles } from "../profiles/profile-store.ts";
import type { Terminal } from "../terminal.ts";
import { issuerOf } from "./authorization-server.ts";
import { signInByBrowser } from "./by-browser.ts";
import { signInByDeviceCode } from "./by-device-code.ts";
import { hasBrowser } from "./open-browser.ts";
import { revokeLogin } from "./revoke-login.ts";

type Options = { url?: string; ca?: string; token?: true; device?: true; scopes: string };

export function loginCommand({ terminal, output, profileName }: ProfileDeps): Command {
  const { env } = terminal;
  return new Command("login")
    .description("sign in with your browser, and keep what comes of it under the name of --profile")
    .option("--url <url>", "the API's address, such as https://api.example.com; needed the first time")
    .option("--ca <file>", "the authority that signs its certificate, if your system does not know it")
    .option("--device", "show a code to type in a browser elsewhere; without a screen, and over ssh, this is the way")
    .addOption(new Option("--token", "ask for a personal token instead, or read it from a pipe").conflicts("device"))
    .option("--scopes <scopes>", "what this computer may do, such as databases:read_write", "*")
    .action(async (options: Options) => {
      const { profiles } = readProfiles(env);
      const name = profileName() ?? "default";
      const former = profiles[name];
      const url = options.url ?? former?.url;
      if (url === undefined || !URL.canParse(url))
        throw new Refused("Say where: moorage login --url https://<the API's address>");
      const ca = options.ca === undefined ? former?.ca : resolve(options.ca);
      trust(ca);
      const { token, issuer } =
        options.token === true ? await askForToken(terminal) : await signIn(terminal, url, options);
      const { username } = await createClient({ url, token }).call(viewProfile);
      const formerToken = former?.token ?? (await keychainOf(env).find(name));

      const keychain = keychainOf(env);
      const isKept = await keychain.keep(name, token);
      const saved: Profile = { url, ...(ca && { ca }), ...(issuer && { issuer }), ...(isKept ? {} : { token }) };
      writeProfiles(env, { current: name, profiles: { ...profiles, [name]: saved } });
      if (former?.issuer !== undefined && formerToken !== undefined && formerToken !== token)
        await revokeLogin(former.issuer, formerToken).catch(() => {
          terminal.printError(
            "The token of the login before could not be revoked: see Sign-in and security in your browser.",
          );
        });
      const place = isKept
        ? `The token is in ${keychain.name}.`
        : `This system has no keychain that would take the token: it is in ${profilesFile(env)}, which only you can read.`;
      output.printResult(
        { profile: name, url, username, in_keychain: isKept },
        `You are ${username} at ${url}, as the profile ${name}. ${place}\nNext: moorage`,
      );
    });
}

async function askForToken(terminal: Terminal): Promise<{ token: string; issuer?: string }> {
  const token = await terminal.secret(
    "Personal token, which is not shown (create one under Sign-in and security in your browser): ",
  );
  if (token === "") throw new Refused("No token was given.");
  return { token };
}

async function signIn(
  terminal: Terminal,
  url: string,
  { device, scopes }: Options,
): Promise<{ token: string; issuer: string }> {
  const issuer = await issuerOf(url);
  const login = { issuer, scope: scopes, machine: hostname(), terminal };
  const isHere = device !== true && hasBrowser(terminal.env);
  return { token: await (isHere ? signInByBrowser(login) : signInByDeviceCode(login)), issuer };
}
