import { logSettings, readSettings } from "@moorage/contract/settings";
import { z } from "zod";

const Port = z.coerce.number().int().min(1024).max(65_534);

/** Shared by the agent and the gatekeeper, so that they find each other. */
export const sharedSettings = {
  ...logSettings,
  MOORAGE_AGENT_DIR: z
    .string()
    .startsWith("/")
    .describe("The folder of the agent's own state, of volumes and of nodes: an absolute path."),
  MOORAGE_FLEET_CA: z.string().min(1).describe("The file of the authority of `fleet` and of hosts: its `ca.pem`."),
  MOORAGE_GATEKEEPER_CHECK_PORT: Port.default(19_080).describe(
    "The port on the loopback address at which the gatekeeper answers over HTTP; the proxies' agent-check uses the next one.",
  ),
};

export const gatekeeperSettings = {
  ...sharedSettings,
  MOORAGE_GATEKEEPER_PORT: Port.default(19_443).describe(
    "The port at which gatekeepers of other hosts reach this one, on the private address of this host. It is the same on all hosts.",
  ),
};

/** `check` is the HTTP port; the proxies' agent-check uses the next one. */
export type GatekeeperConfig = {
  dir: string;
  fleetCa: string;
  ports: { peers: number; check: number };
  logLevel: string;
};

export function readGatekeeperConfig(environment: NodeJS.ProcessEnv = process.env): GatekeeperConfig {
  const env = readSettings(gatekeeperSettings, environment);
  return {
    dir: env.MOORAGE_AGENT_DIR,
    fleetCa: env.MOORAGE_FLEET_CA,
    ports: { peers: env.MOORAGE_GATEKEEPER_PORT, check: env.MOORAGE_GATEKEEPER_CHECK_PORT },
    logLevel: env.LOG_LEVEL,
  };
}
