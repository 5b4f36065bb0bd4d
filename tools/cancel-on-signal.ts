import type { Reporter, Vitest } from "vitest/node";

/**
 * Lets the hooks of running tests finish on SIGTERM and skips the remaining tests. Otherwise hosts, servers and
 * namespaces would be left behind.
 */
export const cancelOnSignal = (): Reporter => ({
  onInit(vitest: Vitest) {
    // Vitest's own listener exits at once.
    process.removeAllListeners("SIGTERM");
    process.once("SIGTERM", () => {
      process.exitCode = 1;
      void vitest.cancelCurrentRun("keyboard-input");
    });
  },
});
