import { Command } from "commander";
import { Refused } from "../admin-client.ts";
import { trust } from "../profiles/connection.ts";
import { keychainOf } from "../profiles/keychain.ts";
import type { ProfileDeps } from "../profiles/profile-commands.ts";
import { readProfiles, writeProfiles } from "../profiles/profile-store.ts";
import { revokeLogin } from "./revoke-login.ts";

export function logoutCommand({ terminal, output, profileName }: ProfileDeps): Command {
  return new Command("logout")
    .description("revoke the token that moorage login got, and forget the profile")
    .option("--local", "only forget: for a server that is gone. The token stays valid")
    .action(async ({ local = false }: { local?: boolean }) => {
      const { env } = terminal;
      const { current, profiles } = readProfiles(env);
      const name = profileName() ?? current;
      const profile = name === undefined ? undefined : profiles[name];
      if (name === undefined || profile === undefined)
        throw new Refused(
          name === undefined ? "You are not signed in." : `No profile is called ${name}. See: moorage profile list`,
        );
      const token = profile.token ?? (await keychainOf(env).find(name));
      const isRevoked = !local && profile.issuer !== undefined && token !== undefined;
      if (isRevoked) {
        trust(profile.ca ?? env["MOORAGE_CA"]);
        await revokeLogin(profile.issuer as string, token).catch((error: unknown) => {
          if (!(error instanceof Refused)) throw error;
          throw new Refused(
            `The token could not be revoked, so you are still signed in. ${error.message}\nTry again, or forget it without revoking it: moorage logout --local`,
          );
        });
      }
      await keychainOf(env).forget(name);
      const { [name]: _, ...rest } = profiles;
      writeProfiles(env, { ...(current === name || current === undefined ? {} : { current }), profiles: rest });
      const text = isRevoked
        ? `You are signed out: the token is revoked, and the profile ${name} is forgotten.`
        : `The profile ${name} is forgotten. Its token stays valid: revoke it under Sign-in and security in your browser.`;
      output.printResult({ profile: name, revoked: isRevoked }, text);
    });
}
