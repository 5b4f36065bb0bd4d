import type { Worker } from "@temporalio/worker";

const POLL_MS = 500;

/**
 * Runs until the worker is shut down, and throws when it has failed, so that the process ends and is restarted. `run()`
 * alone does not suffice: a worker whose namespace is gone fails, and can then wait for ever for its own pollers to
 * end.
 */
export async function runWorker(worker: Worker): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    timer = setInterval(() => {
      if (worker.getState() === "FAILED") reject(new Error("Temporal's worker failed"));
    }, POLL_MS);
  });
  try {
    await Promise.race([worker.run(), failed]);
  } finally {
    clearInterval(timer);
  }
}
