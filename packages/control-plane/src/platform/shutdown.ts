import type { Log } from "./log.ts";

/** Ends the process in order on SIGTERM or SIGINT: first what accepts work, last what that work needs. */
export function onShutdown(log: Log, close: () => Promise<void>): void {
  let closing = false;
  const end = (): void => {
    if (closing) return;
    closing = true;
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, "the shutdown was not clean");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", end);
  process.on("SIGINT", end);
}
