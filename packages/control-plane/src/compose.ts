import type { Config } from "#platform/config.ts";
import { readKeyRing } from "#platform/config.ts";
import { systemClock } from "#platform/clock.ts";
import { createDb, createPool } from "#platform/db/database.ts";
import { createLog } from "#platform/log.ts";
import { createSealer } from "#platform/seal.ts";

/** What every process of the control plane stands on. */
export function composeBase(name: string, config: Config) {
  const log = createLog(name, config.LOG_LEVEL);
  const pool = createPool(config.DATABASE_URL);
  // A broken idle connection is replaced with the next query; without a listener it would end the process.
  pool.on("error", (error) => log.warn({ err: error }, "idle database connection lost"));
  return { log, db: createDb(pool), clock: systemClock };
}

export const composeSealer = (config: Config) => createSealer(readKeyRing(config));
