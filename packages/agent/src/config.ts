import { join } from "node:path";
import { readSettings } from "@moorage/contract/settings";
import { z } from "zod";
import { sharedSettings } from "./gatekeeper/config.ts";
import type { DeletionLimits } from "./specs/deletion-guard.ts";
import type { TrashRules } from "./specs/trash-age.ts";

// The path of a unix socket has at most 107 characters; our longest is <dir>/nodes/<uuid>/run/mysqld.sock.
const longestDirectory = 107 - join("/nodes", "0".repeat(36), "run/mysqld.sock").length;
const Count = z.coerce.number().int().nonnegative();
const Seconds = z.coerce.number().positive();

export const agentSettings = {
  ...sharedSettings,
  MOORAGE_AGENT_DIR: sharedSettings.MOORAGE_AGENT_DIR.max(longestDirectory),
  MOORAGE_FLEET_URL: z
    .url({ protocol: /^https$/, error: "expected a URL with https" })
    .describe("Where hosts reach `fleet`."),
  MOORAGE_ENROL_TOKEN_FILE: z
    .string()
    .optional()
    .describe("The file with the one-time token of `moorage admin host add`; required until the host is enrolled."),
  MOORAGE_PODMAN_SOCKET: z.string().startsWith("/").describe("The socket of podman's service: an absolute path."),
  MOORAGE_ENGINES_DIR: z
    .string()
    .startsWith("/")
    .describe("The folder of engines and their images, such as `mysql/image.tar.zst`: an absolute path."),
  MOORAGE_OPERATOR_KEY: z
    .string()
    .min(1)
    .describe(
      "The file of the operator's public key, which verifies allowances of deletions. For the command line: of the private key, which signs them.",
    ),
  MOORAGE_DELETIONS_PER_WINDOW: Count.default(5)
    .describe(
      "How many deletions and re-clones a host performs in a window without an allowance; others are held until the window has room.",
    )
    .meta({ atMost: "MOORAGE_DELETIONS_PER_DAY" }),
  MOORAGE_DELETION_WINDOW_SECONDS: Count.default(600).describe("The window of deletions, in seconds."),
  MOORAGE_DELETIONS_PER_DAY: Count.default(20).describe(
    "How many deletions, and as many re-clones, a host performs in 24 hours without an allowance; others are held until one is signed or the day has room.",
  ),
  MOORAGE_TRASH_HOURS: Count.default(72).describe(
    "How long the volume of a deleted node is kept, in hours, not counting those in which a deletion is held.",
  ),
  MOORAGE_TRASH_PURGES_PER_DAY: Count.default(50).describe(
    "How many volumes a host removes from its trash in 24 hours; others wait.",
  ),
  MOORAGE_UNRESPONSIVE_SECONDS: Seconds.default(60)
    .describe("How long a server has not answered, in seconds, before it is reported as unresponsive.")
    .meta({ atMost: "MOORAGE_KILL_UNRESPONSIVE_SECONDS" }),
  MOORAGE_KILL_UNRESPONSIVE_SECONDS: Seconds.default(180).describe(
    "How long a server has not answered, in seconds, before it is killed and started again.",
  ),
  MOORAGE_AGENT_DISKS: z
    .string()
    .transform((text) => text.split(":").filter((folder) => folder !== ""))
    .pipe(z.array(z.string().startsWith("/")))
    .prefault("/dev:/var/lib/moorage/disks")
    .describe("Disks below these folders may be read and captured as images: absolute paths, separated by colons."),
};

export type Config = {
  dir: string;
  fleetUrl: string;
  fleetCa: string;
  enrolTokenFile: string | undefined;
  podmanSocket: string;
  enginesDir: string;
  operatorKey: string;
  deletionLimits: DeletionLimits;
  trash: TrashRules;
  liveness: { reportAfterMs: number; killAfterMs: number };
  /** Disks below these folders may be read and captured as images. */
  diskFolders: string[];
  /** The loopback port of this host's gatekeeper. */
  gatekeeperCheckPort: number;
  logLevel: string;
};

/** The only place that reads the environment. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const env = readSettings(agentSettings, environment);
  return {
    dir: env.MOORAGE_AGENT_DIR,
    fleetUrl: env.MOORAGE_FLEET_URL,
    fleetCa: env.MOORAGE_FLEET_CA,
    enrolTokenFile: env.MOORAGE_ENROL_TOKEN_FILE,
    podmanSocket: env.MOORAGE_PODMAN_SOCKET,
    enginesDir: env.MOORAGE_ENGINES_DIR,
    operatorKey: env.MOORAGE_OPERATOR_KEY,
    deletionLimits: {
      perWindow: env.MOORAGE_DELETIONS_PER_WINDOW,
      windowMs: env.MOORAGE_DELETION_WINDOW_SECONDS * 1000,
      perDay: env.MOORAGE_DELETIONS_PER_DAY,
    },
    trash: { keptMs: env.MOORAGE_TRASH_HOURS * 3_600_000, perDay: env.MOORAGE_TRASH_PURGES_PER_DAY },
    liveness: {
      reportAfterMs: env.MOORAGE_UNRESPONSIVE_SECONDS * 1000,
      killAfterMs: env.MOORAGE_KILL_UNRESPONSIVE_SECONDS * 1000,
    },
    diskFolders: env.MOORAGE_AGENT_DISKS,
    gatekeeperCheckPort: env.MOORAGE_GATEKEEPER_CHECK_PORT,
    logLevel: env.LOG_LEVEL,
  };
}
