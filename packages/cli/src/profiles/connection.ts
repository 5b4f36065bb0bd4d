import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { type Client, createClient } from "@moorage/client";
import { Refused } from "../refused.ts";
import { keychainOf } from "./keychain.ts";
import { readProfiles } from "./profile-store.ts";
import { texts } from "./texts.ts";

type Environment = Readonly<Record<string, string | undefined>>;
export type Connection = { url: string; token?: string };

/** The API that tenant commands use: from the named profile, else the environment, else the current profile. */
export async function connection(env: Environment, named: string | undefined): Promise<Connection> {
  const url = env["MOORAGE_URL"];
  if (named === undefined && url !== undefined && url !== "") {
    trust(env["MOORAGE_CA"]);
    return { url, ...tokenIf(env["MOORAGE_TOKEN"]) };
  }
  const { current, profiles } = readProfiles(env);
  const name = named ?? env["MOORAGE_PROFILE"] ?? current;
  const profile = name === undefined ? undefined : profiles[name];
  if (name === undefined || profile === undefined)
    throw new Refused(name === undefined ? texts.notSignedIn() : texts.unknown({ name }));
  trust(profile.ca ?? env["MOORAGE_CA"]);
  return { url: profile.url, ...tokenIf(profile.token ?? (await keychainOf(env).find(name))) };
}

export const isSignedIn = (env: Environment, named: string | undefined): boolean =>
  Boolean(named ?? env["MOORAGE_URL"] ?? env["MOORAGE_PROFILE"] ?? readProfiles(env).current);

const tokenIf = (token: string | undefined): { token?: string } =>
  token === undefined || token === "" ? {} : { token };

/** `warn` receives warnings, which are not part of the command's output. */
export const clientOf = async (
  env: Environment,
  named: string | undefined,
  warn: (line: string) => void = () => {},
): Promise<Client> =>
  createClient({
    ...(await connection(env, named)),
    onIgnored: (fields) => warn(texts.fieldsIgnored({ fields }).text),
  });

/** Adds an authority to those that are trusted by default. */
export function trust(file: string | undefined): void {
  if (file === undefined || file === "") return;
  try {
    setDefaultCACertificates([...getCACertificates("default"), readFileSync(file, "utf8")]);
  } catch (error) {
    throw new Refused(texts.authorityUnreadable({ file, reason: (error as Error).message }));
  }
}

const unknownAuthority: readonly string[] = [
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
];

/** `reason`: the code of the failed connection. */
export const refusalOfAuthority = (server: string, reason: string): Refused | undefined =>
  unknownAuthority.includes(reason) ? new Refused(texts.authorityUnknown({ server, reason })) : undefined;
