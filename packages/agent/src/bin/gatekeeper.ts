import { setFlagsFromString } from "node:v8";
import { announceReady, release } from "@moorage/contract/process";
import { pino } from "pino";
import { readGatekeeperConfig } from "../gatekeeper/config.ts";
import { startGatekeeper } from "../gatekeeper/gatekeeper.ts";

// As in the agent: the host's memory is for databases.
setFlagsFromString("--semi-space-growth-factor=1");

const config = readGatekeeperConfig();
const log = pino({ level: config.logLevel, name: "gatekeeper" });
log.info(release, "starting");
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(0));
await startGatekeeper(config, log);
log.info("started");
await announceReady(log);
