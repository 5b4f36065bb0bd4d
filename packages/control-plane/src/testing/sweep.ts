import type { Client } from "@temporalio/client";
import { sweepOnce } from "#operations/sweeper.ts";
import { createLog } from "#platform/log.ts";
import type { World } from "./world.ts";

/** A minute later, like the worker's sweeper. */
export async function sweep(world: World, temporal: Client): Promise<void> {
  const { db, clock, expire, time } = world;
  time.now = new Date(time.now.getTime() + 60_000);
  await sweepOnce({ db, temporal, clock, expire, log: createLog("test", "silent"), everySeconds: 10, jobs: [] });
}
