import { join } from "node:path";
import { z } from "zod";
import { gatekeeperPorts } from "./gatekeeper/config.ts";

// The path of a unix socket has at most 107 characters; our longest is <dir>/nodes/<uuid>/run/mysqld.sock.
const longestDirectory = 107 - join("/nodes", "0".repeat(36), "run/mysqld.sock").length;
const Count = z.coerce.number().int().nonnegative();

const Environment = z.object({
  MOORAGE_AGENT_DIR: z.string().startsWith("/").max(longestDirectory),
  MOORAGE_FLEET_URL: z.url({ protocol: /^https$/ }),
  MOORAGE_FLEET_CA: z.string().min(1),
  MOORAGE_ENROL_TOKEN_FILE: z.string().optional(),
  MOORAGE_PODMAN_SOCKET: z.string().startsWith("/"),
  MOORAGE_ENGINES_DIR: z.string().startsWith("/"),
  MOORAGE_OPERATOR_KEY: z.string().min(1),
  MOORAGE_DELETIONS_PER_WINDOW: Count.default(5),
  MOORAGE_DELETION_WINDOW_SECONDS: Count.default(600),
  MOORAGE_TRASH_HOURS: Count.default(72),
  MOORAGE_AGENT_DISKS: z
    .string()
    .default("/dev:/var/lib/moorage/disks")
    .transform((text) => text.split(":").filter((folder) => folder !== ""))
    .pipe(z.array(z.string().startsWith("/"))),
  MOORAGE_GATEKEEPER_CHECK_PORT: gatekeeperPorts.MOORAGE_GATEKEEPER_CHECK_PORT,
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]).default("info"),
});

export type Config = {
  dir: string;
  fleetUrl: string;
  fleetCa: string;
  enrolTokenFile: string | undefined;
  podmanSocket: string;
  enginesDir: string;
  operatorKey: string;
  deletionsPerWindow: number;
  deletionWindowMs: number;
  trashMs: number;
  /** Disks below these folders may be read and captured as images. */
  diskFolders: string[];
  /** The loopback port of this host's gatekeeper. */
  gatekeeperCheckPort: number;
  logLevel: string;
};

/** The only place that reads the environment. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const read = Environment.safeParse(environment);
  if (!read.success) throw new Error(`The environment variables are not valid:\n${z.prettifyError(read.error)}`);
  const env = read.data;
  return {
    dir: env.MOORAGE_AGENT_DIR,
    fleetUrl: env.MOORAGE_FLEET_URL,
    fleetCa: env.MOORAGE_FLEET_CA,
    enrolTokenFile: env.MOORAGE_ENROL_TOKEN_FILE,
    podmanSocket: env.MOORAGE_PODMAN_SOCKET,
    enginesDir: env.MOORAGE_ENGINES_DIR,
    operatorKey: env.MOORAGE_OPERATOR_KEY,
    deletionsPerWindow: env.MOORAGE_DELETIONS_PER_WINDOW,
    deletionWindowMs: env.MOORAGE_DELETION_WINDOW_SECONDS * 1000,
    trashMs: env.MOORAGE_TRASH_HOURS * 3_600_000,
    diskFolders: env.MOORAGE_AGENT_DISKS,
    gatekeeperCheckPort: env.MOORAGE_GATEKEEPER_CHECK_PORT,
    logLevel: env.LOG_LEVEL,
  };
}
