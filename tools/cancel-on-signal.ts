import type { Reporter, Vitest } from "vitest/node";

/**
 * A run that is ended by SIGTERM leaves hosts, servers and namespaces behind unless the hooks of its tests get their
 * turn: what runs comes to its end, the rest is left out.
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
