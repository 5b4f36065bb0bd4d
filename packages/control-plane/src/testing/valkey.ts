import { setTimeout as sleep } from "node:timers/promises";
import { startValkey } from "@moorage/testkit/valkey-server.ts";
import { createSharedLimits, type SharedLimits, type SharedLimitsOptions } from "#platform/limits/shared-limits.ts";
import { createLog } from "#platform/log.ts";

/** A Valkey for one test, with the limits of any number of processes. */
export async function newValkey() {
  const server = await startValkey();
  const open: SharedLimits[] = [];
  return {
    ...server,
    /**
     * The limits of one process, once it is connected: until then nothing is shared. They wait long for the server: a
     * process that gives up counts by itself.
     */
    async limits(options: SharedLimitsOptions = {}): Promise<SharedLimits> {
      const log = createLog("test", "silent");
      const shared = createSharedLimits(server.url, log, { patienceMs: 60_000, ...options });
      open.push(shared);
      const isCold = (): Promise<boolean> =>
        shared.take(["warm"], [{ requests: 1e6, perSeconds: 1 }]).then(
          () => false,
          () => true,
        );
      while (await isCold()) await sleep(10);
      return shared;
    },
    async [Symbol.asyncDispose]() {
      for (const shared of open) shared.close();
      await server[Symbol.asyncDispose]();
    },
  };
}
