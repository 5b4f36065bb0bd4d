import { hostname } from "node:os";
import { resolve } from "node:path";
import { createClient } from "@moorage/client";
import { viewProfile } from "@moorage/contract";
import { Command, Option } from "commander";
import { trust } from "../profiles/connection.ts";
import { keychainOf } from "../profiles/keychain.ts";
import type { ProfileDeps } from "../profiles/profile-commands.ts";
import { type Profile, profilesFile, readProfiles, writeProfiles } from "../profiles/profile-store.ts";
import { Refused } from "../refused.ts";
import type { Terminal } from "../terminal.ts";
import { issuerOf, revokeLogin } from "./authorization-server.ts";
import { signInByBrowser } from "./by-browser.ts";
import { signInByDeviceCode } from "./by-device-code.ts";
import { hasBrowser } from "./open-browser.ts";
import { texts } from "./texts.ts";

type Options = { url?: string; ca?: string; token?: true; device?: true; scopes: string };

export function loginCommand({ terminal, output, profileName }: ProfileDeps): Command {
  const { env } = terminal;
  return new Command("login")
    .description("Sign in with your browser and store the token in the profile that --profile names")
    .option("--url <url>", "URL of the API, such as https://api.example.com; required for a new profile")
    .option("--ca <file>", "certificate authority of the API, if your system does not trust it")
    .option("--device", "print a code for a browser on another computer (default over ssh and without a display)")
    .addOption(new Option("--token", "prompt for a personal token, or read it from a pipe").conflicts("device"))
    .option("--scopes <scopes>", "scopes of the token, such as databases:read_write", "*")
    .action(async (options: Options) => {
      const { profiles } = readProfiles(env);
      const name = profileName() ?? "default";
      const former = profiles[name];
      const url = options.url ?? former?.url;
      if (url === undefined || !URL.canParse(url)) throw new Refused(texts.urlInvalid());
      const ca = options.ca === undefined ? former?.ca : resolve(options.ca);
      trust(ca ?? env["MOORAGE_CA"]);
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
          terminal.printError(texts.formerTokenNotRevoked().text);
        });
      const storage = isKept
        ? texts.tokenInKeychain({ keychain: keychain.name })
        : texts.tokenInFile({ file: profilesFile(env) });
      output.printResult(
        { profile: name, url, username, in_keychain: isKept },
        texts.signedIn({ username, url, profile: name, storage: storage.text }),
      );
    });
}

async function askForToken(terminal: Terminal): Promise<{ token: string; issuer?: string }> {
  const token = await terminal.secret(texts.tokenPrompt().text);
  if (token === "") throw new Refused(texts.tokenMissing());
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
