import { readFileSync } from "node:fs";
import type { SettingFields } from "@moorage/contract/settings";
import { isLoopback } from "./loopback.ts";

/** Certificate authority, certificate and key, as files in PEM. */
export type TlsFiles = { ca: string; certificate: string; key: string };
export type PeerTls = { ca: Buffer; cert: Buffer; key: Buffer };

export const readTls = ({ ca, certificate, key }: TlsFiles): PeerTls => ({
  ca: readFileSync(ca),
  cert: readFileSync(certificate),
  key: readFileSync(key),
});

/** The files of a peer, from its three settings: all of them, or none. */
export function tlsFilesOf(config: Readonly<Record<string, unknown>>, prefix: string): TlsFiles | undefined {
  const [ca, certificate, key] = tlsNames(prefix).map((name) => config[name]);
  if (typeof ca !== "string" || typeof certificate !== "string" || typeof key !== "string") return undefined;
  return { ca, certificate, key };
}

const tlsNames = (prefix: string): string[] => ["CA", "CERTIFICATE", "KEY"].map((what) => `${prefix}_${what}_FILE`);

/** How a part on another machine is reached, by the metadata `peer` of the setting with its address. */
type PeerRule = "postgres" | "temporal" | "valkey" | "loopback" | "https";

const rules: Record<
  PeerRule,
  { isSafe: (address: string, config: Readonly<Record<string, unknown>>) => boolean; valid: string }
> = {
  postgres: {
    isSafe: (address) => {
      const { searchParams } = new URL(address);
      const given = (name: string): string | undefined => searchParams.getAll(name).at(-1);
      const files = ["sslrootcert", "sslcert", "sslkey"];
      return given("sslmode") === "verify-full" && files.every(given) && given("ssl") === undefined;
    },
    valid: "must have the parameters sslmode=verify-full, sslrootcert, sslcert and sslkey",
  },
  temporal: {
    isSafe: (_address, config) => tlsFilesOf(config, "TEMPORAL_TLS") !== undefined,
    valid: `needs ${tlsNames("TEMPORAL_TLS").join(", ")}`,
  },
  valkey: {
    isSafe: (address, config) =>
      new URL(address).protocol === "rediss:" && tlsFilesOf(config, "VALKEY_TLS") !== undefined,
    valid: `must begin with rediss://, and needs ${tlsNames("VALKEY_TLS").join(", ")}`,
  },
  loopback: {
    isSafe: () => false,
    valid: "must be an address of this machine, such as a local TLS proxy to the server",
  },
  https: { isSafe: (address) => new URL(address).protocol === "https:", valid: "must begin with https://" },
};

/** Parts inside of the control plane that would be reached on another machine without authentication of both ends. */
export function openPeers(fields: SettingFields, config: Readonly<Record<string, unknown>>): string[] {
  const allowed = config["MOORAGE_CLEAR_TEXT_ALLOWED"];
  return Object.entries(fields).flatMap(([name, field]) => {
    const rule = field.meta()?.["peer"] as PeerRule | undefined;
    const address = config[name];
    if (rule === undefined || typeof address !== "string" || isHere(rule, address)) return [];
    if (rules[rule].isSafe(address, config) || (Array.isArray(allowed) && allowed.includes(name))) return [];
    return [
      `${name} is on another machine: it ${rules[rule].valid}. If the network is safe, set MOORAGE_CLEAR_TEXT_ALLOWED to ${name}.`,
    ];
  });
}

function isHere(rule: PeerRule, address: string): boolean {
  if (rule === "temporal") return isLoopback(address.replace(/:\d+$/, ""));
  if (rule !== "postgres") return isLoopback(new URL(address).hostname);
  // As the driver reads it: the parameter wins, and a path is a socket of this machine.
  const { hostname, searchParams } = new URL(address);
  const host = searchParams.getAll("host").at(-1) ?? decodeURIComponent(hostname);
  return host === "" || host.startsWith("/") || isLoopback(host);
}
