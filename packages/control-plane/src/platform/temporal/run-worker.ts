import type { Worker } from "@temporalio/worker";

const POLL_MS = 500;

/**
 * Runs until the worker is shut down, and throws when it failed: the process then ends and is started anew. `run()` alone
 * does not tell: a worker whose namespace is gone fails, and then can wait for ever for the end of its own pollers.
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
