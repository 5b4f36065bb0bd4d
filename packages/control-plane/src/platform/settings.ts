import { logSettings } from "@moorage/contract/settings";
import { z } from "zod";

/** Where a process listens: `127.0.0.1:18090`. */
export const Listen = z
  .templateLiteral([z.string().min(1), ":", z.int().positive()], "expected HOST:PORT")
  .transform((text) => {
    const at = text.lastIndexOf(":");
    return { host: text.slice(0, at), port: Number(text.slice(at + 1)) };
  });
export const WebUrl = z.url({ protocol: /^https?$/, error: "expected a URL with http or https" });
/** Of keys that two processes share. */
export const SharedKey = z.string().min(32);
export const Positive = z.coerce.number().positive();
export const PositiveInteger = z.coerce.number().int().positive();

const Addresses = z
  .string()
  .transform((text) => text.split(",").map((each) => each.trim()))
  .pipe(z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], "expected addresses and networks")));

const peers = ["DATABASE_URL", "TEMPORAL_ADDRESS", "VALKEY_URL", "MOORAGE_DNS_URL", "MOORAGE_S3_URL"] as const;

/** Three files with which a process and a part that it uses authenticate each other. */
export const tlsFileSettings = <Prefix extends string>(prefix: Prefix, part: string) => {
  // All three or none.
  const needs = ["CA", "CERTIFICATE", "KEY"].map((what) => `${prefix}_${what}_FILE`);
  const file = (what: string) =>
    z.string().min(1).optional().describe(`${what}, a PEM file.`).meta({ needs, reads: "file" });
  return {
    [`${prefix}_CA_FILE`]: file(`The authority of ${part}'s certificate`),
    [`${prefix}_CERTIFICATE_FILE`]: file(`The certificate that the process shows to ${part}`),
    [`${prefix}_KEY_FILE`]: file(`The key of the certificate that the process shows to ${part}`),
  } as Record<`${Prefix}_${"CA" | "CERTIFICATE" | "KEY"}_FILE`, ReturnType<typeof file>>;
};

export const databaseSettings = {
  DATABASE_URL: z
    .url()
    .describe(
      "PostgreSQL: `postgres://user:password@host:5432/database`. On another machine: a hostname, and the parameters `sslmode=verify-full`, `sslrootcert`, `sslcert` and `sslkey` (files).",
    )
    .meta({ secret: true, peer: "postgres" }),
  MOORAGE_CLEAR_TEXT_ALLOWED: z
    .string()
    .transform((text) => text.split(",").map((each) => each.trim()))
    .pipe(z.array(z.enum(peers)))
    .optional()
    .describe(
      `Settings whose parts on other machines may be reached without TLS and certificates, separated by commas, on a network that is safe: ${peers.join(", ")}.`,
    ),
};

/** Of connections on which somebody waits for a response. */
export const requestTimeoutSettings = {
  MOORAGE_REQUEST_STATEMENT_SECONDS: Positive.default(10).describe(
    "How long PostgreSQL works on one statement of a request, in seconds; then it is answered 503.",
  ),
  MOORAGE_REQUEST_LOCK_SECONDS: Positive.default(5)
    .describe("How long a request waits for a lock in PostgreSQL, in seconds; then it is answered 503.")
    .meta({ atMost: "MOORAGE_REQUEST_STATEMENT_SECONDS" }),
};

/** Of connections of jobs, of hosts' reports, and of the operator's commands. */
export const jobTimeoutSettings = {
  MOORAGE_JOB_STATEMENT_SECONDS: Positive.default(600).describe(
    "How long PostgreSQL works on one statement of a job, a host's report or the operator's command, in seconds; a job is then tried again.",
  ),
  MOORAGE_JOB_LOCK_SECONDS: Positive.default(60)
    .describe("How long a job, a host's report or the operator's command waits for a lock in PostgreSQL, in seconds.")
    .meta({ atMost: "MOORAGE_JOB_STATEMENT_SECONDS" }),
};

export const telemetrySettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url()
    .optional()
    .describe(
      "Where traces are sent, over HTTP; without it there are none. The exporter reads its own other variables too, such as `OTEL_EXPORTER_OTLP_HEADERS`.",
    ),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe("The share of traces that is kept, 0 to 1."),
};

export const baseSettings = { ...databaseSettings, ...logSettings, ...telemetrySettings };

export const temporalSettings = {
  TEMPORAL_ADDRESS: z
    .string()
    .default("127.0.0.1:7233")
    .describe("The Temporal server: host and port.")
    .meta({ peer: "temporal" }),
  ...tlsFileSettings("TEMPORAL_TLS", "the Temporal server"),
  TEMPORAL_NAMESPACE: z
    .string()
    .default("moorage")
    .describe("The namespace of all workflows; it is created if missing."),
};

export const drainSettings = {
  MOORAGE_DRAIN_NOTICE_SECONDS: z.coerce
    .number()
    .min(0)
    .default(0)
    .describe(
      "How long a process that is stopped still accepts requests while `/ready` answers 503, in seconds: longer than the front takes to notice.",
    ),
  MOORAGE_DRAIN_SECONDS: Positive.default(25).describe(
    "How long requests may take to finish when a process is stopped, in seconds; then they are cut.",
  ),
};

/** Of processes that serve requests of tenants. */
export const servingSettings = {
  MOORAGE_TRUSTED_PROXIES: Addresses.optional().describe(
    "Proxies whose `X-Forwarded-For` is trusted: addresses and networks, separated by commas.",
  ),
  MOORAGE_MAX_IN_FLIGHT: PositiveInteger.default(500).describe(
    "How many requests a process handles at once; it answers 503 to others.",
  ),
  MOORAGE_MAX_LAG_MS: Positive.default(500).describe(
    "The lag of the event loop, in milliseconds, above which a process answers 503.",
  ),
  ...drainSettings,
};

/** Of a process that knows whose request it serves. */
export const shareSettings = {
  MOORAGE_ACCOUNT_SHARE_PERCENT: z.coerce
    .number()
    .min(1)
    .max(100)
    .default(25)
    .describe(
      "How much of a process one account may use at once, in percent: of the requests that it handles (others of the account are answered 429), and of its database connections (others of the account wait).",
    ),
};

export const keyRingSettings = {
  MOORAGE_KEYS_FILE: z
    .string()
    .describe(
      'The key ring, a JSON file of key-encryption keys of 32 bytes: `{"current": "k2", "keys": {"k1": "<base64>", "k2": "<base64>"}}`.',
    )
    .meta({ reads: "file" }),
};

const httpsSettings = ["MOORAGE_PUBLIC_URL", "MOORAGE_AUTH_URL", "MOORAGE_IMAGE_SERVER_URL"] as const;

export const addressSettings = {
  MOORAGE_PUBLIC_URL: WebUrl.transform((url) => url.replace(/\/+$/, ""))
    .optional()
    .describe("Where tenants reach the API, for addresses in responses; without it those are paths.")
    .meta({ https: true }),
  MOORAGE_AUTH_URL: WebUrl.transform((url) => new URL(url).origin)
    .optional()
    .describe(
      "Where users sign in, and the issuer of tokens: an origin, `https://login.example.com`. Do not change it: passkeys are bound to its hostname.",
    )
    .meta({ https: true }),
  MOORAGE_HTTP_ALLOWED: z
    .string()
    .transform((text) => text.split(",").map((each) => each.trim()))
    .pipe(z.array(z.enum(httpsSettings)))
    .optional()
    .describe(
      `Settings that may be http URLs of other machines, separated by commas, on a network that is safe: ${httpsSettings.join(", ")}.`,
    ),
};

/** The store of archives; the images of all regions too, unless they have stores of their own. */
export const objectStoreSettings = {
  MOORAGE_S3_URL: z
    .url()
    .describe(
      "The object store: any S3-compatible one. `api` and `image-server` need it and its keys only without `MOORAGE_IMAGE_STORES_FILE`.",
    )
    .meta({ peer: "https" }),
  MOORAGE_S3_REGION: z
    .string()
    .default("us-east-1")
    .describe("The object store's own name for its region, in signatures."),
  MOORAGE_S3_ACCESS_KEY: z
    .string()
    .min(1)
    .describe("The access key of the object store. Give each process one of its own, with the rights that it needs."),
  MOORAGE_S3_SECRET_KEY: z.string().min(1).describe("The secret key of the object store.").meta({ secret: true }),
};

const archiveBucketSettings = {
  MOORAGE_S3_BUCKET: z
    .string()
    .min(3)
    .default("moorage-archive")
    .describe("The bucket of backups and binary logs. Create it first."),
};

export const archiveStoreSettings = { ...objectStoreSettings, ...archiveBucketSettings };

/** The key that deletes. `worker` has it, and nobody else. */
export const purgeKeySettings = {
  MOORAGE_S3_PURGE_ACCESS_KEY: z
    .string()
    .min(1)
    .optional()
    .describe(
      "The access key that may delete, and neither read nor write objects. Without it `worker` deletes with `MOORAGE_S3_ACCESS_KEY`, and warns.",
    )
    .meta({ needs: ["MOORAGE_S3_PURGE_SECRET_KEY"], insteadOf: ["MOORAGE_S3_ACCESS_KEY", "MOORAGE_S3_SECRET_KEY"] }),
  MOORAGE_S3_PURGE_SECRET_KEY: z
    .string()
    .min(1)
    .optional()
    .describe("The secret key of `MOORAGE_S3_PURGE_ACCESS_KEY`.")
    .meta({ secret: true, needs: ["MOORAGE_S3_PURGE_ACCESS_KEY"] }),
};

/** Of the process that deletes archives. It reads and writes none. */
export const archivePurgeSettings = {
  ...objectStoreSettings,
  MOORAGE_S3_ACCESS_KEY: optional(objectStoreSettings.MOORAGE_S3_ACCESS_KEY),
  MOORAGE_S3_SECRET_KEY: optional(objectStoreSettings.MOORAGE_S3_SECRET_KEY),
  ...archiveBucketSettings,
  ...purgeKeySettings,
};

export function optional<Field extends z.ZodType>(field: Field): z.ZodOptional<Field> {
  return z.optional(field).meta(field.meta() ?? {});
}
