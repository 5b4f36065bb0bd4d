import { Context } from "@temporalio/activity";
import { limitConcurrency } from "#platform/limit-concurrency.ts";
import type { RunKey } from "./billing-run-store.ts";
import { runBillingBatch, type RunDeps } from "./run-billing-batch.ts";

/** Batches of all runs that a worker works on at once: it has other things to do, and so has Postgres. */
const AT_ONCE = 3;
const BEAT_MS = 2000;

export const createInvoiceActivities = (deps: Omit<RunDeps, "limited">) => {
  const limit = limitConcurrency({ atOnce: AT_ONCE, mostWaiting: Number.POSITIVE_INFINITY });
  return {
    /** Repeatable: accounts that have their invoice are passed over. */
    invoiceRun: async (key: RunKey): Promise<void> => {
      const context = Context.current();
      // Also while it waits for its turn.
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
