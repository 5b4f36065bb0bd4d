import { readFileSync } from "node:fs";
import { z } from "zod";

const Listen = z.templateLiteral([z.string().min(1), ":", z.int().positive()]).transform((text) => {
  const at = text.lastIndexOf(":");
  return { host: text.slice(0, at), port: Number(text.slice(at + 1)) };
});

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
  MOORAGE_API_LISTEN: Listen.prefault("127.0.0.1:18090"),
  MOORAGE_ADMIN_LISTEN: Listen.prefault("127.0.0.1:18091"),
  MOORAGE_WORKER_LISTEN: Listen.prefault("127.0.0.1:18092"),
  MOORAGE_FLEET_LISTEN: Listen.prefault("127.0.0.1:18443"),
  MOORAGE_FLEET_TLS_DIR: z.string().optional(),
  /** A JSON file of key-encryption keys: `{"current": "k2", "keys": {"k1": "<base64>", "k2": "<base64>"}}`. */
  MOORAGE_KEYS_FILE: z.string().optional(),
  MOORAGE_OPERATOR_TOKEN_SHA256: z.hex().length(64).optional(),
  /** Workflows bundled beforehand (`bin/bundle-workflows.ts`); otherwise the worker bundles them when it starts. */
  MOORAGE_WORKFLOW_BUNDLE: z.string().optional(),
  MOORAGE_PROVISION_DEADLINE_SECONDS: z.coerce.number().positive().default(900),
  MOORAGE_DELETE_DEADLINE_SECONDS: z.coerce.number().positive().default(86_400),
  MOORAGE_SWEEP_SECONDS: z.coerce.number().positive().default(10),
});

export type Config = z.output<typeof Environment>;

/** The only place that reads the environment; it names every fault at once. */
export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const parsed = Environment.safeParse(env);
  if (parsed.success) return parsed.data;
  throw new Error(`The environment is not usable:\n${z.prettifyError(parsed.error)}`);
}

/** A setting that only some processes need. */
export function required<Key extends keyof Config>(config: Config, key: Key): NonNullable<Config[Key]> {
  const value = config[key];
  if (value === undefined || value === null) throw new Error(`${key} must be set for this process.`);
  return value;
}

export function readKeyRing(config: Config): z.output<typeof KeyRing> {
  return KeyRing.parse(JSON.parse(readFileSync(required(config, "MOORAGE_KEYS_FILE"), "utf8")));
}
