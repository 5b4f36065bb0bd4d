import { setFlagsFromString } from "node:v8";
import { announceReady, release } from "@moorage/contract/process";
import { pino } from "pino";
import { startAgent } from "../agent.ts";
import { readConfig } from "../config.ts";

// The host's memory is for databases: V8's young generation must not grow while a copy passes through.
setFlagsFromString("--semi-space-growth-factor=1");

const config = readConfig();
const log = pino({ level: config.logLevel, name: "agent" });
log.info(release, "starting");
const agent = await startAgent(config, log);
log.info("started");
await announceReady(log);

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    log.info({ signal }, "stopping; the nodes keep running");
    void agent.close().then(() => process.exit(0));
  });
}
