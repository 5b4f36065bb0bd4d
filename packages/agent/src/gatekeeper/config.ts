import { z } from "zod";

const Port = z.coerce.number().int().min(1024).max(65_534);
/** Shared by the agent and the gatekeeper, so that they find each other. */
export const gatekeeperPorts = {
  MOORAGE_GATEKEEPER_PORT: Port.default(19_443),
  MOORAGE_GATEKEEPER_CHECK_PORT: Port.default(19_080),
};

const Environment = z.object({
  ...gatekeeperPorts,
  MOORAGE_AGENT_DIR: z.string().startsWith("/"),
  MOORAGE_FLEET_CA: z.string().min(1),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal"]).default("info"),
});

/** `check` is the HTTP port; the proxies' agent-check uses the next one. */
export type GatekeeperConfig = {
  dir: string;
  fleetCa: string;
  ports: { peers: number; check: number };
  logLevel: string;
};

export const agentCheckPortOf = (check: number): number => check + 1;

export function readGatekeeperConfig(environment: NodeJS.ProcessEnv = process.env): GatekeeperConfig {
  const read = Environment.safeParse(environment);
  if (!read.success) throw new Error(`The environment variables are not valid:\n${z.prettifyError(read.error)}`);
  const env = read.data;
  return {
    dir: env.MOORAGE_AGENT_DIR,
    fleetCa: env.MOORAGE_FLEET_CA,
    ports: { peers: env.MOORAGE_GATEKEEPER_PORT, check: env.MOORAGE_GATEKEEPER_CHECK_PORT },
    logLevel: env.LOG_LEVEL,
  };
}
