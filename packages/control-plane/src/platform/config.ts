import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readSettings, type SettingFields, type SettingsOf } from "@moorage/contract/settings";
import { z } from "zod";
import { isLoopback } from "./loopback.ts";
import { openPeers } from "./peers.ts";
import type { keyRingSettings } from "./settings.ts";

/** The only place that reads the environment. */
export function readConfig<Fields extends SettingFields>(fields: Fields, env = process.env): SettingsOf<Fields> {
  const config = readSettings(fields, env);
  requireHttps(fields, config);
  refuse(openPeers(fields, config));
  return config;
}

/** Of settings with the metadata `https`: what is sent there must not be readable on the way. */
function requireHttps(fields: SettingFields, config: Readonly<Record<string, unknown>>): void {
  const allowed = config["MOORAGE_HTTP_ALLOWED"];
  const faults = Object.entries(fields)
    .filter(([name, field]) => field.meta()?.["https"] === true && isOpen(config[name]))
    .map(([name]) => name)
    .filter((name) => !(Array.isArray(allowed) && allowed.includes(name)));
  refuse(
    faults.map(
      (name) =>
        `${name} must be an https URL: only an address of this machine, such as http://localhost:8080, may be http. If the network is safe, set MOORAGE_HTTP_ALLOWED to ${name}.`,
    ),
  );
}

function refuse(faults: readonly string[]): void {
  if (faults.length === 0) return;
  throw new Error(`The settings in the environment are not valid:\n${faults.map((fault) => `- ${fault}`).join("\n")}`);
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
const KeyRing = z
  .object({ current: KeyId, keys: z.record(KeyId, z.base64()) })
  .refine(({ current, keys }) => Object.hasOwn(keys, current), { error: "`current` must be the id of one of `keys`" });

export const readKeyRing = (config: SettingsOf<typeof keyRingSettings>): z.output<typeof KeyRing> =>
  KeyRing.parse(JSON.parse(readFileSync(config.MOORAGE_KEYS_FILE, "utf8")));

/** The certificates that the API shows to tenants. The key in the same directory is not for this process. */
export const readDatabaseCa = (config: { MOORAGE_DATABASE_CA_DIR: string }): string =>
  readFileSync(join(config.MOORAGE_DATABASE_CA_DIR, "ca.pem"), "utf8");
