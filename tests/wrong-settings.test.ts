import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readConfig as readAgentConfig } from "../packages/agent/src/config.ts";
import { readGatekeeperConfig } from "../packages/agent/src/gatekeeper/config.ts";
import { readConfig } from "../packages/control-plane/src/platform/config.ts";
import { processSettings } from "../packages/control-plane/src/process-settings.ts";

type Environment = Record<string, string>;
type Name = keyof typeof processSettings | "agent" | "gatekeeper";

const folder = mkdtempSync(join(tmpdir(), "moorage-settings-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content = ""): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}
function folderOf(name: string, files: readonly string[]): string {
  mkdirSync(join(folder, name));
  for (const each of files) file(join(name, each));
  return join(folder, name);
}
const key = Buffer.alloc(32).toString("base64");
const ring = (content: unknown): string =>
  file(`${Math.random()}.json`, typeof content === "string" ? content : JSON.stringify(content));

/** Of an installation on one machine, with a mail server and a payment provider. */
const shared: Environment = {
  DATABASE_URL: "postgres://moorage@127.0.0.1:5432/moorage",
  MOORAGE_KEYS_FILE: ring({ current: "k1", keys: { k1: key } }),
  MOORAGE_AUTH_URL: "https://login.example.com",
  MOORAGE_PUBLIC_URL: "https://api.example.com",
  MOORAGE_ZONE: "db.example.com",
  MOORAGE_S3_URL: "https://s3.example.com",
  MOORAGE_S3_ACCESS_KEY: "access",
  MOORAGE_S3_SECRET_KEY: "secret",
  MOORAGE_DATABASE_CA_DIR: folderOf("database-ca", ["ca.pem", "ca.key"]),
};
const stripe: Environment = { MOORAGE_PAYMENT_PROVIDER: "stripe", MOORAGE_STRIPE_KEY: "sk_live" };
const sharedKey = "k".repeat(32);
const host: Environment = {
  MOORAGE_AGENT_DIR: "/var/lib/moorage",
  MOORAGE_FLEET_CA: "/etc/moorage/fleet-ca.pem",
  MOORAGE_FLEET_URL: "https://fleet.example.com:18443",
  MOORAGE_PODMAN_SOCKET: "/run/podman/podman.sock",
  MOORAGE_ENGINES_DIR: "/var/lib/moorage/engines",
  MOORAGE_OPERATOR_KEY: "/etc/moorage/operator.pub",
};
const valid: Record<Name, Environment> = {
  api: { ...shared, ...stripe, MOORAGE_STRIPE_WEBHOOK_SECRET: "whsec", MOORAGE_OPERATOR_TOKEN_SHA256: "a".repeat(64) },
  auth: shared,
  worker: {
    ...shared,
    ...stripe,
    MOORAGE_STRIPE_WEBHOOK_SECRET: "whsec",
    MOORAGE_SMTP_URL: "smtp://mail.example.com",
    MOORAGE_MAIL_FROM: "Moorage <noreply@example.com>",
    MOORAGE_DNS_URL: "http://127.0.0.1:8081",
    MOORAGE_DNS_KEY: "key",
  },
  fleet: {
    ...shared,
    MOORAGE_FLEET_TLS_DIR: folderOf("fleet-tls", ["server.pem", "server.key", "ca.pem", "ca.key"]),
  },
  cards: {
    ...stripe,
    MOORAGE_CARDS_ADMISSION_URL: "http://127.0.0.1:18100",
    MOORAGE_CARDS_ADMISSION_KEY: sharedKey,
  },
  "image-server": { ...shared, MOORAGE_IMAGE_SERVER_KEY: sharedKey },
  migrate: shared,
  agent: host,
  gatekeeper: host,
};

function read(name: Name, env: Environment): unknown {
  if (name === "agent") return readAgentConfig(env);
  return name === "gatekeeper" ? readGatekeeperConfig(env) : readConfig(processSettings[name], env);
}

/** The lines of the refusal. */
function faultsOf(name: Name, changes: Record<string, string | undefined>): string[] {
  const env = Object.entries({ ...valid[name], ...changes }).filter(([, value]) => value !== undefined);
  try {
    read(name, Object.fromEntries(env) as Environment);
    return [];
  } catch (error) {
    return (error as Error).message.split("\n").slice(1);
  }
}

test.each(Object.keys(valid) as Name[])("%s starts with settings that fit together", (name) => {
  expect(faultsOf(name, {})).toEqual([]);
});

const tlsFile = file("tls.pem");
const wrong: [Name, Record<string, string | undefined>, string][] = [
  // Not set.
  ["api", { DATABASE_URL: undefined }, "- DATABASE_URL is not set. PostgreSQL"],
  ["api", { MOORAGE_KEYS_FILE: undefined }, "- MOORAGE_KEYS_FILE is not set. The key ring"],
  ["api", { MOORAGE_ZONE: undefined }, "- MOORAGE_ZONE is not set. The DNS zone"],
  ["api", { MOORAGE_OPERATOR_TOKEN_SHA256: undefined }, "- MOORAGE_OPERATOR_TOKEN_SHA256 is not set"],
  ["auth", { MOORAGE_AUTH_URL: undefined }, "- MOORAGE_AUTH_URL is not set. Where users sign in"],
  ["worker", { MOORAGE_DNS_KEY: undefined }, "- MOORAGE_DNS_KEY is not set"],
  ["agent", { MOORAGE_FLEET_CA: undefined }, "- MOORAGE_FLEET_CA is not set"],
  // Mistyped.
  ["api", { MOORAGE_ZONES: "x" }, "- MOORAGE_ZONES is no setting of Moorage. Did you mean MOORAGE_ZONE?"],
  ["worker", { MOORAGE_SWEEP_SECOND: "5" }, "Did you mean MOORAGE_SWEEP_SECONDS?"],
  ["agent", { MOORAGE_TRASH_HOUR: "5" }, "Did you mean MOORAGE_TRASH_HOURS?"],
  // Malformed, or beyond a bound.
  ["api", { DATABASE_URL: "127.0.0.1:5432" }, "- DATABASE_URL is not valid"],
  ["api", { MOORAGE_ZONE: "db example" }, "- MOORAGE_ZONE is not valid: expected a DNS name"],
  ["api", { MOORAGE_API_LISTEN: "18090" }, "- MOORAGE_API_LISTEN is not valid: expected HOST:PORT"],
  ["api", { MOORAGE_TRUSTED_PROXIES: "front" }, "- MOORAGE_TRUSTED_PROXIES is not valid: expected addresses"],
  ["api", { MOORAGE_RATE_OVERALL: "800" }, "- MOORAGE_RATE_OVERALL is not valid: expected REQUESTS/SECONDS"],
  ["api", { MOORAGE_OPERATOR_TOKEN_SHA256: "secret" }, "- MOORAGE_OPERATOR_TOKEN_SHA256 is not valid"],
  ["fleet", { MOORAGE_DAILY_BACKUPS_KEPT: "1" }, "- MOORAGE_DAILY_BACKUPS_KEPT is not valid"],
  ["fleet", { MOORAGE_S3_LOCK_MODE: "on" }, "- MOORAGE_S3_LOCK_MODE is not valid"],
  ["migrate", { MOORAGE_CELL: "1024" }, "- MOORAGE_CELL is not valid"],
  ["cards", { MOORAGE_CARDS_ADMISSION_KEY: "short" }, "- MOORAGE_CARDS_ADMISSION_KEY is not valid"],
  [
    "agent",
    { MOORAGE_FLEET_URL: "http://fleet.example.com" },
    "- MOORAGE_FLEET_URL is not valid: expected a URL with https",
  ],
  ["agent", { MOORAGE_AGENT_DIR: `/${"long".repeat(20)}` }, "- MOORAGE_AGENT_DIR is not valid"],
  ["gatekeeper", { MOORAGE_GATEKEEPER_PORT: "443" }, "- MOORAGE_GATEKEEPER_PORT is not valid"],
  // Readable on the way.
  ["auth", { MOORAGE_AUTH_URL: "http://login.example.com" }, "- MOORAGE_AUTH_URL must be an https URL"],
  [
    "worker",
    { MOORAGE_S3_URL: "http://s3.example.com" },
    "- MOORAGE_S3_URL is on another machine: it must begin with https://",
  ],
  [
    "worker",
    { TEMPORAL_ADDRESS: "temporal.example:7233" },
    "- TEMPORAL_ADDRESS is on another machine: it needs TEMPORAL_TLS",
  ],
  [
    "fleet",
    { DATABASE_URL: "postgres://m@db.example/m" },
    "- DATABASE_URL is on another machine: it must have the parameters",
  ],
  // One without the other.
  [
    "worker",
    { MOORAGE_MAIL_FROM: undefined },
    "- MOORAGE_MAIL_FROM is not set. MOORAGE_SMTP_URL requires it. The sender",
  ],
  ["worker", { MOORAGE_AUTH_URL: undefined }, "- MOORAGE_AUTH_URL is not set. MOORAGE_SMTP_URL requires it"],
  ["api", { MOORAGE_STRIPE_KEY: undefined }, "- MOORAGE_STRIPE_KEY is not set. MOORAGE_PAYMENT_PROVIDER requires it"],
  [
    "worker",
    { MOORAGE_STRIPE_WEBHOOK_SECRET: undefined },
    "- MOORAGE_STRIPE_WEBHOOK_SECRET is not set. MOORAGE_PAYMENT_PROVIDER",
  ],
  [
    "worker",
    { MOORAGE_S3_PURGE_ACCESS_KEY: "purge" },
    "- MOORAGE_S3_PURGE_SECRET_KEY is not set. MOORAGE_S3_PURGE_ACCESS_KEY",
  ],
  [
    "worker",
    { MOORAGE_S3_ACCESS_KEY: undefined },
    "- MOORAGE_S3_ACCESS_KEY is not set. It is required without MOORAGE_",
  ],
  [
    "image-server",
    { MOORAGE_S3_URL: undefined },
    "- MOORAGE_S3_URL is not set. It is required without MOORAGE_IMAGE_STORES_FILE",
  ],
  [
    "api",
    { MOORAGE_IMAGE_SERVER_KEY: sharedKey },
    "- MOORAGE_IMAGE_SERVER_URL is not set. MOORAGE_IMAGE_SERVER_KEY requires it",
  ],
  [
    "api",
    { VALKEY_TLS_CA_FILE: tlsFile, VALKEY_TLS_KEY_FILE: tlsFile },
    "- VALKEY_TLS_CERTIFICATE_FILE is not set. VALKEY_TLS_CA_FILE",
  ],
  // Contradictory.
  [
    "api",
    { MOORAGE_ADMIN_LISTEN: "127.0.0.1:18090" },
    "MOORAGE_ADMIN_LISTEN and MOORAGE_API_LISTEN are both 127.0.0.1:18090",
  ],
  [
    "fleet",
    { MOORAGE_JOB_STATEMENT_SECONDS: "30" },
    "- MOORAGE_JOB_LOCK_SECONDS is 60, and must be at most MOORAGE_JOB_STATEMENT_SECONDS",
  ],
  [
    "worker",
    { MOORAGE_IMAGE_RAW_MB: "1024" },
    "- MOORAGE_IMAGE_CONTENT_MB is 6144, and must be at most MOORAGE_IMAGE_RAW_MB",
  ],
  [
    "agent",
    { MOORAGE_UNRESPONSIVE_SECONDS: "300" },
    "- MOORAGE_UNRESPONSIVE_SECONDS is 300, and must be at most MOORAGE_KILL_",
  ],
  [
    "agent",
    { MOORAGE_DELETIONS_PER_DAY: "1" },
    "- MOORAGE_DELETIONS_PER_WINDOW is 5, and must be at most MOORAGE_DELETIONS_PER_DAY",
  ],
  // Files.
  ["api", { MOORAGE_KEYS_FILE: "/nowhere/keys.json" }, "- MOORAGE_KEYS_FILE: /nowhere/keys.json does not exist."],
  ["api", { MOORAGE_KEYS_FILE: folder }, `- MOORAGE_KEYS_FILE: ${folder} is a folder, and must be a file.`],
  ["auth", { MOORAGE_KEYS_FILE: ring("{") }, "is no key ring: it is not JSON."],
  [
    "auth",
    { MOORAGE_KEYS_FILE: ring({ current: "k2", keys: { k1: key } }) },
    "`current` must be the id of one of `keys`",
  ],
  ["fleet", { MOORAGE_KEYS_FILE: ring({ current: "k1", keys: { k1: "c2hvcnQ=" } }) }, "a key is 32 bytes in base64"],
  ["fleet", { MOORAGE_FLEET_TLS_DIR: folder }, `- MOORAGE_FLEET_TLS_DIR: ${folder}/server.pem does not exist.`],
  [
    "worker",
    { MOORAGE_IMAGE_STORES_FILE: "/nowhere.json" },
    "- MOORAGE_IMAGE_STORES_FILE: /nowhere.json does not exist.",
  ],
];
test.each(wrong)("%s refuses %j by the name of the setting", (name, changes, refusal) => {
  expect(faultsOf(name, changes).join("\n")).toContain(refusal);
});

test("faults of every kind are reported together, and none twice", () => {
  const faults = faultsOf("worker", {
    MOORAGE_DNS_KEY: undefined,
    MOORAGE_SWEEP_SECOND: "5",
    MOORAGE_ZONE: "db example",
    MOORAGE_S3_URL: "http://s3.example.com",
    MOORAGE_MAIL_FROM: undefined,
    MOORAGE_JOB_STATEMENT_SECONDS: "30",
    MOORAGE_KEYS_FILE: ring("{"),
  });

  expect(faults).toHaveLength(7);
  expect(new Set(faults.map((fault) => /[A-Z]+_[A-Z0-9_]+/.exec(fault)?.[0]))).toEqual(
    new Set([
      "MOORAGE_DNS_KEY",
      "MOORAGE_JOB_LOCK_SECONDS",
      "MOORAGE_KEYS_FILE",
      "MOORAGE_MAIL_FROM",
      "MOORAGE_S3_URL",
      "MOORAGE_SWEEP_SECOND",
      "MOORAGE_ZONE",
    ]),
  );
});
