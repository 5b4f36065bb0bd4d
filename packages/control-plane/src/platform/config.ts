import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readSettings, type SettingFields, type SettingsOf } from "@moorage/contract/settings";
import { z } from "zod";
import { isLoopback } from "./loopback.ts";
import { openPeers } from "./peers.ts";
import { unreadableFiles } from "./readable-files.ts";
import type { keyRingSettings } from "./settings.ts";

/** The only place that reads the environment. */
export const readConfig = <Fields extends SettingFields>(fields: Fields, env = process.env): SettingsOf<Fields> =>
  readSettings(fields, env, [
    (config) => openAddresses(fields, config),
    (config) => openPeers(fields, config),
    (config) => unreadableFiles(fields, config),
    keyRingFaults,
  ]);

/** Of settings with the metadata `https`: what is sent there must not be readable on the way. */
function openAddresses(fields: SettingFields, config: Readonly<Record<string, unknown>>): string[] {
  const allowed = config["MOORAGE_HTTP_ALLOWED"];
  return Object.entries(fields)
    .filter(([name, field]) => field.meta()?.["https"] === true && isOpen(config[name]))
    .map(([name]) => name)
    .filter((name) => !(Array.isArray(allowed) && allowed.includes(name)))
    .map(
      (name) =>
        `${name} must be an https URL: only an address of this machine, such as http://localhost:8080, may be http. If the network is safe, set MOORAGE_HTTP_ALLOWED to ${name}.`,
    );
}

function isOpen(address: unknown): boolean {
  if (typeof address !== "string") return false;
  const { protocol, hostname } = new URL(address);
  return protocol === "http:" && !isLoopback(hostname) && !hostname.endsWith(".localhost");
}

/** Reads a setting that is required only because of another one. */
export function required<Config, Name extends keyof Config & string>(
  config: Config,
  name: Name,
): NonNullable<Config[Name]> {
  const value = config[name];
  if (value === undefined || value === null) throw new Error(`${name} must be set for this process.`);
  return value;
}

/** A dot would end the id where it is part of a sealed value or a code. */
const KeyId = z.string().regex(/^[\w-]{1,50}$/, "the id of a key has 1 to 50 letters, digits, _ and -");
const Key = z
  .base64("a key is 32 bytes in base64: openssl rand -base64 32")
  .refine((key) => Buffer.from(key, "base64").length === 32, "a key is 32 bytes in base64: openssl rand -base64 32");
const KeyRing = z
  .object({ current: KeyId, keys: z.record(KeyId, Key) })
  .refine(({ current, keys }) => Object.hasOwn(keys, current), { error: "`current` must be the id of one of `keys`" });
type KeyRing = z.output<typeof KeyRing>;

export const readKeyRing = (config: SettingsOf<typeof keyRingSettings>): KeyRing =>
  KeyRing.parse(JSON.parse(readFileSync(config.MOORAGE_KEYS_FILE, "utf8")));

/** Says nothing of the content, which is secret. */
function keyRingFaults({ MOORAGE_KEYS_FILE: path }: Readonly<Record<string, unknown>>): string[] {
  if (typeof path !== "string" || !existsSync(path)) return [];
  const fault = (why: string): string[] => [`MOORAGE_KEYS_FILE: ${path} is no key ring: ${why}.`];
  try {
    const read = KeyRing.safeParse(JSON.parse(readFileSync(path, "utf8")));
    return read.success ? [] : fault(read.error.issues[0]?.message ?? "it is not valid");
  } catch (error) {
    return fault(error instanceof SyntaxError ? "it is not JSON" : "it cannot be read");
  }
}

/** The certificates that the API shows to tenants. The key in the same directory is not for this process. */
export const readDatabaseCa = (config: { MOORAGE_DATABASE_CA_DIR: string }): string =>
  readFileSync(join(config.MOORAGE_DATABASE_CA_DIR, "ca.pem"), "utf8");
