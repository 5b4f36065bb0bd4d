import { expect, vi } from "vitest";
import { createAuthenticate, createTokenCache } from "#identity/index.ts";
import { listen } from "#platform/db/notifications.ts";
import { createLog } from "#platform/log.ts";
import type { World } from "./world.ts";

const log = createLog("test", "silent");

/**
 * The parts of an API process: a cache, and its own listening connection. The cache's clock stands still, so that it
 * drops a token only when notified.
 */
export async function startProcess(world: World, databaseUrl = world.databaseUrl) {
  const started = new Date();
  const tokens = createTokenCache(() => started);
  const state = { listening: false };
  const listening = listen(databaseUrl, "identity", log, {
    onNotification: () => tokens.forget(),
    onConnect: () => {
      tokens.open();
      state.listening = true;
    },
    onDisconnect: () => {
      tokens.close();
      state.listening = false;
    },
  });
  await vi.waitFor(() => expect(state.listening).toBe(true), { timeout: 60_000 });
  const authenticate = createAuthenticate({ db: world.db, clock: () => new Date(), tokens });
  return {
    state,
    [Symbol.asyncDispose]: () => listening.close(),
    accepts: (token: string) =>
      authenticate(`Bearer ${token}`).then(
        () => true,
        () => false,
      ),
  };
}

export const untilDead = async (accepts: (token: string) => Promise<boolean>, token: string): Promise<void> => {
  await vi.waitFor(async () => expect(await accepts(token)).toBe(false), { timeout: 60_000, interval: 20 });
};
