import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { RateClass } from "@moorage/contract";
import { z } from "zod";

const Listen = z.templateLiteral([z.string().min(1), ":", z.int().positive()]).transform((text) => {
  const at = text.lastIndexOf(":");
  return { host: text.slice(0, at), port: Number(text.slice(at + 1)) };
});

/** `800/120`: 800 requests in 120 seconds. */
const Rate = z.templateLiteral([z.int().positive(), "/", z.int().positive()]).transform((text) => {
  const [requests, perSeconds] = text.split("/").map(Number) as [number, number];
  return { requests, perSeconds };
});
const Addresses = z
  .string()
  .transform((text) => text.split(",").map((each) => each.trim()))
  .pipe(z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])));

const KeyRing = z.object({
  current: z.string(),
  keys: z.record(z.string(), z.base64()),
});

const Environment = z.object({
  DATABASE_URL: z.url(),
  LOG_LEVEL: z.string().default("info"),
  TEMPORAL_ADDRESS: z.string().default("127.0.0.1:7233"),
  TEMPORAL_NAMESPACE: z.string().default("moorage"),
  MOORAGE_CELL: z.coerce.number().int().min(0).max(1023).default(0),
  MOORAGE_ZONE: z.string().default("moorage.test"),
  /** PowerDNS's HTTP API and its key, for the worker. */
  MOORAGE_DNS_URL: z.url().optional(),
  MOORAGE_DNS_KEY: z.string().min(1).optional(),
  /** Where tenants reach the API, for addresses in responses; without it those are paths. */
  MOORAGE_PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ""))
    .optional(),
  /** Where people sign in, and the issuer of tokens: an origin, `https://login.example.com`. */
  MOORAGE_AUTH_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => new URL(url).origin)
    .optional(),
  MOORAGE_API_LISTEN: Listen.prefault("127.0.0.1:18090"),
  MOORAGE_ADMIN_LISTEN: Listen.prefault("127.0.0.1:18091"),
  MOORAGE_WORKER_LISTEN: Listen.prefault("127.0.0.1:18092"),
  MOORAGE_AUTH_LISTEN: Listen.prefault("127.0.0.1:18096"),
  MOORAGE_FLEET_LISTEN: Listen.prefault("127.0.0.1:18443"),
  MOORAGE_FLEET_TLS_DIR: z.string().optional(),
  /**
   * `ca.pem` with every authority that tenants may encounter, and `ca.key` of the one that signs, for the gateway only.
   */
  MOORAGE_DATABASE_CA_DIR: z.string().optional(),
  /** A JSON file of key-encryption keys: `{"current": "k2", "keys": {"k1": "<base64>", "k2": "<base64>"}}`. */
  MOORAGE_KEYS_FILE: z.string().optional(),
  MOORAGE_OPERATOR_TOKEN_SHA256: z.hex().length(64).optional(),
  /** Workflows bundled beforehand (`bin/bundle-workflows.ts`); otherwise the worker bundles them when it starts. */
  MOORAGE_WORKFLOW_BUNDLE: z.string().optional(),
  VALKEY_URL: z.url().default("redis://127.0.0.1:6379"),
  /** `off`, or a factor for all of the limits below. */
  MOORAGE_RATE_LIMITS: z.union([z.literal("off"), z.coerce.number().positive()]).default(1),
  MOORAGE_RATE_OVERALL: Rate.prefault("800/120"),
  MOORAGE_RATE_SINGLE: Rate.prefault("400/60"),
  MOORAGE_RATE_COLLECTION: Rate.prefault("200/60"),
  MOORAGE_RATE_ACCEPT: Rate.prefault("2/60"),
  MOORAGE_RATE_IMAGES: Rate.prefault("20/60"),
  /** Proxies whose X-Forwarded-For is trusted: addresses and networks, separated by commas. */
  MOORAGE_TRUSTED_PROXIES: Addresses.optional(),
  MOORAGE_MAX_IN_FLIGHT: z.coerce.number().int().positive().default(500),
  MOORAGE_MAX_LAG_MS: z.coerce.number().positive().default(500),
  MOORAGE_DRAIN_NOTICE_SECONDS: z.coerce.number().min(0).default(0),
  MOORAGE_DRAIN_SECONDS: z.coerce.number().positive().default(25),
  MOORAGE_PROVISION_DEADLINE_SECONDS: z.coerce.number().positive().default(900),
  MOORAGE_UPDATE_DEADLINE_SECONDS: z.coerce.number().positive().default(120),
  MOORAGE_DELETE_DEADLINE_SECONDS: z.coerce.number().positive().default(86_400),
  /** Only accounts that have an active database, or the capability, may create one. */
  MOORAGE_EXISTING_CUSTOMERS_ONLY: z.stringbool().default(false),
  /** The value of `ssl_connection` for a database that is created without it. */
  MOORAGE_SSL_CONNECTION_IF_OMITTED: z.stringbool().default(true),
  /** For resize, suspend, resume, patch and a reset of credentials. */
  MOORAGE_CHANGE_DEADLINE_SECONDS: z.coerce.number().positive().default(900),
  /**
   * A node of a cluster is replaced when its host was last seen this long ago and the two other members work without
   * it.
   */
  MOORAGE_HOST_SILENT_SECONDS: z.coerce.number().positive().default(300),
  MOORAGE_BACKUP_DEADLINE_SECONDS: z.coerce
    .number()
    .positive()
    .default(6 * 3600),
  MOORAGE_RESTORE_DEADLINE_SECONDS: z.coerce
    .number()
    .positive()
    .default(6 * 3600),
  /** How hosts archive databases: see the agent protocol. */
  MOORAGE_LOG_SECONDS: z.coerce.number().int().positive().default(60),
  MOORAGE_COPY_HOURS: z.templateLiteral([z.int().min(0).max(23), "-", z.int().min(1).max(24)]).default("18-24"),
  /**
   * How often a restore is verified. Hosts verify at least every six days, so that one of seven daily backups is
   * verified.
   */
  MOORAGE_VERIFY_DAYS: z.coerce.number().positive().default(5),
  /** At least two: the last verified backup and the newest one. */
  MOORAGE_DAILY_BACKUPS_KEPT: z.coerce.number().int().min(2).default(7),
  /** How long the data of a cancelled account are kept. */
  MOORAGE_CLOSED_ACCOUNT_DAYS: z.coerce.number().nonnegative().default(30),
  /** Survey for people who cancel their account; none without it. */
  MOORAGE_SURVEY_URL: z.union([z.literal(""), z.url({ protocol: /^https?$/ })]).default(""),
  /** How long after its end a month is invoiced: by then usage that began before its end is written. */
  MOORAGE_INVOICE_DELAY_SECONDS: z.coerce.number().nonnegative().default(600),
  /** How many accounts one workflow invoices. */
  MOORAGE_INVOICE_RUN_ACCOUNTS: z.coerce.number().int().positive().default(250),
  /** The issuer of invoices: a name, and the address lines separated by semicolons. */
  MOORAGE_OPERATOR_NAME: z.string().min(1).default("Moorage"),
  MOORAGE_OPERATOR_ADDRESS: z.string().default(""),
  /** `stripe`, or nothing: without a payment provider no card can be added and nothing is charged. */
  MOORAGE_PAYMENT_PROVIDER: z.enum(["stripe"]).optional(),
  MOORAGE_STRIPE_KEY: z.string().min(1).optional(),
  MOORAGE_STRIPE_WEBHOOK_SECRET: z.string().min(1).optional(),
  /** The provider's API, if not at Stripe's own address: for tests. */
  MOORAGE_STRIPE_URL: z.url().optional(),
  /** Whether the API accepts card numbers; otherwise only the provider's own page does. */
  MOORAGE_CARDS_RAW: z.stringbool().default(true),
  /** How many cards an account may add in 24 hours. */
  MOORAGE_CARDS_PER_DAY: z.coerce.number().int().positive().default(60),
  MOORAGE_CARDS_LISTEN: Listen.prefault("127.0.0.1:18098"),
  MOORAGE_CARDS_METRICS_LISTEN: Listen.prefault("127.0.0.1:18099"),
  /** Where `api` listens for `cards`, and where `cards` connects. Only these two know the key. */
  MOORAGE_CARDS_ADMISSION_LISTEN: Listen.prefault("127.0.0.1:18100"),
  MOORAGE_CARDS_ADMISSION_URL: z.url().optional(),
  MOORAGE_CARDS_ADMISSION_KEY: z.string().min(32).optional(),
  /** How long the last backup of a deleted database is kept for an undelete. */
  MOORAGE_UNDELETE_DAYS: z.coerce.number().nonnegative().default(7),
  /** The object store: any S3. */
  MOORAGE_S3_URL: z.url().optional(),
  MOORAGE_S3_REGION: z.string().default("us-east-1"),
  MOORAGE_S3_ACCESS_KEY: z.string().min(1).optional(),
  MOORAGE_S3_SECRET_KEY: z.string().min(1).optional(),
  MOORAGE_S3_BUCKET: z.string().min(3).default("moorage-archive"),
  /** The bucket of images, where one store serves all regions. */
  MOORAGE_IMAGE_BUCKET: z.string().min(3).default("moorage-images"),
  /** A JSON file of image stores by name, where regions have their own: see `images/stores.ts`. */
  MOORAGE_IMAGE_STORES_FILE: z.string().optional(),
  /** Image limits of an account, unless the operator set others. */
  MOORAGE_IMAGES_PER_ACCOUNT: z.coerce.number().int().nonnegative().default(25),
  MOORAGE_IMAGE_TOTAL_MB: z.coerce
    .number()
    .int()
    .positive()
    .default(150 * 1024),
  /** Limits of one image: the disk, its non-zero part, and the upload. */
  MOORAGE_IMAGE_RAW_MB: z.coerce.number().int().positive().default(6144),
  MOORAGE_IMAGE_CONTENT_MB: z.coerce.number().int().positive().default(6144),
  MOORAGE_IMAGE_UPLOAD_BYTES: z.coerce.number().int().positive().default(5_000_000_000),
  MOORAGE_IMAGE_UPLOAD_HOURS: z.coerce.number().positive().default(24),
  MOORAGE_IMPORT_DEADLINE_SECONDS: z.coerce
    .number()
    .positive()
    .default(2 * 3600),
  MOORAGE_CAPTURE_DEADLINE_SECONDS: z.coerce
    .number()
    .positive()
    .default(6 * 3600),
  /** How long the images of a removed compute instance are kept. */
  MOORAGE_AUTOMATIC_IMAGE_DAYS: z.coerce.number().positive().default(7),
  /** `image-server` streams images to hypervisors, at addresses that are signed with this key. */
  MOORAGE_IMAGE_SERVER_LISTEN: Listen.prefault("127.0.0.1:18103"),
  MOORAGE_IMAGE_SERVER_METRICS_LISTEN: Listen.prefault("127.0.0.1:18104"),
  MOORAGE_IMAGE_SERVER_URL: z.url({ protocol: /^https?$/ }).optional(),
  MOORAGE_IMAGE_SERVER_KEY: z.string().min(32).optional(),
  /** The region of this server: it reads from that region's store first. */
  MOORAGE_IMAGE_SERVER_REGION: z.string().optional(),
  /** How many images are sent at once: each takes about 40 MB of memory. */
  MOORAGE_IMAGE_SERVER_STREAMS: z.coerce.number().int().positive().default(8),
  MOORAGE_PROMETHEUS_URL: z.url().optional(),
  /** The SMTP server for outgoing mail: `smtp://name:password@host:587` or `smtps://…`; without it mails wait. */
  MOORAGE_SMTP_URL: z.url({ protocol: /^smtps?$/ }).optional(),
  MOORAGE_MAIL_FROM: z.string().includes("@").optional(),
  MOORAGE_SWEEP_SECONDS: z.coerce.number().positive().default(10),
  /** Metrics of the gateway, on a separate address: hosts reach the gateway's own, and must not read metrics. */
  MOORAGE_FLEET_METRICS_LISTEN: Listen.prefault("127.0.0.1:18094"),
  /** Metrics of the authorization server, for the same reason. */
  MOORAGE_AUTH_METRICS_LISTEN: Listen.prefault("127.0.0.1:18097"),
  /**
   * Where traces are sent, over HTTP; without it there are none. The exporter reads its other settings, such as
   * headers.
   */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
  /** The share of traces that is kept. */
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1),
});

export type Config = z.output<typeof Environment>;

/** The only place that reads the environment; it reports every fault at once. */
export const readConfig = (env: NodeJS.ProcessEnv = process.env): Config => readBy(Environment, env);

function readBy<Schema extends z.ZodType>(schema: Schema, env: NodeJS.ProcessEnv): z.output<Schema> {
  const parsed = schema.safeParse(env);
  if (parsed.success) return parsed.data;
  throw new Error(`The environment is not usable:\n${z.prettifyError(parsed.error)}`);
}

/** The only settings that `cards` gets. It cannot reach what it does not know. */
const CardsEnvironment = Environment.pick({
  LOG_LEVEL: true,
  MOORAGE_TRUSTED_PROXIES: true,
  MOORAGE_MAX_IN_FLIGHT: true,
  MOORAGE_MAX_LAG_MS: true,
  MOORAGE_DRAIN_NOTICE_SECONDS: true,
  MOORAGE_DRAIN_SECONDS: true,
  MOORAGE_PAYMENT_PROVIDER: true,
  MOORAGE_STRIPE_KEY: true,
  MOORAGE_STRIPE_URL: true,
  MOORAGE_CARDS_LISTEN: true,
  MOORAGE_CARDS_METRICS_LISTEN: true,
  OTEL_EXPORTER_OTLP_ENDPOINT: true,
  OTEL_TRACES_SAMPLER_ARG: true,
}).extend({ MOORAGE_CARDS_ADMISSION_URL: z.url(), MOORAGE_CARDS_ADMISSION_KEY: z.string().min(32) });
export type CardsConfig = z.output<typeof CardsEnvironment>;

export const readCardsConfig = (env: NodeJS.ProcessEnv = process.env): CardsConfig => readBy(CardsEnvironment, env);

/** The only settings that `image-server` gets: where rows and chunks are, and the key that signs addresses. */
const ImageServerEnvironment = Environment.pick({
  DATABASE_URL: true,
  LOG_LEVEL: true,
  MOORAGE_DRAIN_NOTICE_SECONDS: true,
  MOORAGE_DRAIN_SECONDS: true,
  MOORAGE_S3_URL: true,
  MOORAGE_S3_REGION: true,
  MOORAGE_S3_ACCESS_KEY: true,
  MOORAGE_S3_SECRET_KEY: true,
  MOORAGE_IMAGE_BUCKET: true,
  MOORAGE_IMAGE_STORES_FILE: true,
  MOORAGE_IMAGE_UPLOAD_HOURS: true,
  MOORAGE_IMAGE_SERVER_LISTEN: true,
  MOORAGE_IMAGE_SERVER_METRICS_LISTEN: true,
  MOORAGE_IMAGE_SERVER_REGION: true,
  MOORAGE_IMAGE_SERVER_STREAMS: true,
  OTEL_EXPORTER_OTLP_ENDPOINT: true,
  OTEL_TRACES_SAMPLER_ARG: true,
}).extend({ MOORAGE_IMAGE_SERVER_KEY: z.string().min(32) });
export type ImageServerConfig = z.output<typeof ImageServerEnvironment>;

export const readImageServerConfig = (env: NodeJS.ProcessEnv = process.env): ImageServerConfig =>
  readBy(ImageServerEnvironment, env);

/** Reads a setting that only some processes need. */
export function required<Key extends keyof Config>(config: Pick<Config, Key>, key: Key): NonNullable<Config[Key]> {
  const value = config[key];
  if (value === undefined || value === null) throw new Error(`${key} must be set for this process.`);
  return value;
}

/** Settings with which hosts archive databases. */
export function archiveSettingsOf(config: Config) {
  const [from = 0, to = 24] = config.MOORAGE_COPY_HOURS.split("-").map(Number);
  return {
    log_seconds: config.MOORAGE_LOG_SECONDS,
    copy_hours: { from, to },
    verify_days: config.MOORAGE_VERIFY_DAYS,
  };
}

/** The issuer named on invoices. */
export const issuerOf = (config: Config) => ({
  name: config.MOORAGE_OPERATOR_NAME,
  address: config.MOORAGE_OPERATOR_ADDRESS.split(";")
    .map((line) => line.trim())
    .filter(Boolean),
});

export function rateLimitsOf(config: Config): Record<RateClass | "overall", { requests: number; perSeconds: number }> {
  const factor = config.MOORAGE_RATE_LIMITS === "off" ? 1 : config.MOORAGE_RATE_LIMITS;
  const times = ({ requests, perSeconds }: z.output<typeof Rate>) => ({
    requests: Math.max(1, Math.round(requests * factor)),
    perSeconds,
  });
  return {
    overall: times(config.MOORAGE_RATE_OVERALL),
    single: times(config.MOORAGE_RATE_SINGLE),
    collection: times(config.MOORAGE_RATE_COLLECTION),
    accept: times(config.MOORAGE_RATE_ACCEPT),
    images: times(config.MOORAGE_RATE_IMAGES),
  };
}

/** Undefined: the API issues no addresses for image downloads. */
export const imageServerAddressOf = ({ MOORAGE_IMAGE_SERVER_URL: url, MOORAGE_IMAGE_SERVER_KEY: key }: Config) =>
  url === undefined || key === undefined ? undefined : { url, key };

export function readKeyRing(config: Config): z.output<typeof KeyRing> {
  return KeyRing.parse(JSON.parse(readFileSync(required(config, "MOORAGE_KEYS_FILE"), "utf8")));
}

/** The certificates that the API shows to tenants. The key in the same directory is not for this process. */
export const readDatabaseCa = (config: Config): string =>
  readFileSync(join(required(config, "MOORAGE_DATABASE_CA_DIR"), "ca.pem"), "utf8");
