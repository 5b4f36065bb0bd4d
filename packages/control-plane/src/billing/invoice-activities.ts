import { Context } from "@temporalio/activity";
import { limitConcurrency } from "#platform/limit-concurrency.ts";
import type { RunKey } from "./billing-run-store.ts";
import { runBillingBatch, type RunDeps } from "./run-billing-batch.ts";

/** Maximum concurrent batches per worker, which leaves capacity for its other work and for PostgreSQL. */
const AT_ONCE = 3;
const BEAT_MS = 2000;

export const createInvoiceActivities = (deps: Omit<RunDeps, "limited">) => {
  const limit = limitConcurrency({ atOnce: AT_ONCE, mostWaiting: Number.POSITIVE_INFINITY });
  return {
    /** Can be repeated: accounts that have their invoice are skipped. */
    invoiceRun: async (key: RunKey): Promise<void> => {
      const context = Context.current();
      // Also while it waits for the limiter.
      const beating = setInterval(() => context.heartbeat(), BEAT_MS);
      try {
        const limited = (batch: () => Promise<void>): Promise<void> =>
          limit(() => {
            context.cancellationSignal.throwIfAborted();
            return batch();
          });
        await runBillingBatch({ ...deps, limited }, key);
      } finally {
        clearInterval(beating);
      }
    },
  };
};
export type InvoiceActivities = ReturnType<typeof createInvoiceActivities>;
