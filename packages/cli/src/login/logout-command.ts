import { Command } from "commander";
import { trust } from "../profiles/connection.ts";
import { keychainOf } from "../profiles/keychain.ts";
import type { ProfileDeps } from "../profiles/profile-commands.ts";
import { readProfiles, writeProfiles } from "../profiles/profile-store.ts";
import { texts as profileTexts } from "../profiles/texts.ts";
import { Refused } from "../refused.ts";
import { revokeLogin } from "./authorization-server.ts";
import { texts } from "./texts.ts";

export function logoutCommand({ terminal, output, profileName }: ProfileDeps): Command {
  return new Command("logout")
    .description("Revoke the token of moorage login and delete the profile")
    .option("--local", "delete the profile without revoking the token, if the server no longer exists")
    .action(async ({ local = false }: { local?: boolean }) => {
      const { env } = terminal;
      const { current, profiles } = readProfiles(env);
      const name = profileName() ?? current;
      const profile = name === undefined ? undefined : profiles[name];
      if (name === undefined || profile === undefined)
        throw new Refused(name === undefined ? profileTexts.notSignedIn() : profileTexts.unknown({ name }));
      const token = profile.token ?? (await keychainOf(env).find(name));
      const isRevoked = !local && profile.issuer !== undefined && token !== undefined;
      if (isRevoked) {
        trust(profile.ca ?? env["MOORAGE_CA"]);
        await revokeLogin(profile.issuer as string, token).catch((error: unknown) => {
          if (!(error instanceof Refused)) throw error;
          throw new Refused(texts.notRevoked({ reason: error.message }));
        });
      }
      await keychainOf(env).forget(name);
      const { [name]: _, ...rest } = profiles;
      writeProfiles(env, { ...(current === name || current === undefined ? {} : { current }), profiles: rest });
      const result = isRevoked ? texts.signedOut : texts.profileDeleted;
      output.printResult({ profile: name, revoked: isRevoked }, result({ profile: name }));
    });
}
