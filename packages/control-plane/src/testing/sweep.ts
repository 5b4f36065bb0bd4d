import type { Client } from "@temporalio/client";
import { sweepOnce } from "#operations/sweeper.ts";
import { createLog } from "#platform/log.ts";
import type { World } from "./world.ts";

/** A minute later, like the worker's sweeper. */
export async function sweep(world: World, temporal: Client): Promise<void> {
  const { db, clock, parts, time } = world;
  time.now = new Date(time.now.getTime() + 60_000);
  const log = createLog("test", "silent");
  await sweepOnce({ db, temporal, clock, log, everySeconds: 10, parts: parts.map(({ expire = {} }) => ({ expire })) });
}
