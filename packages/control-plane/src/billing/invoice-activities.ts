import { Context } from "@temporalio/activity";
import { requireCurrent } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact } from "#platform/db/database.ts";
import { limitConcurrency } from "#platform/limits/limit-concurrency.ts";
import { accountsToInvoice, type BillingRun, findRun, finishRun, type RunKey } from "./billing-run-store.ts";
import { type AfterInvoices, invoiceAccounts } from "./invoice-accounts.ts";
import { endOf } from "./months.ts";

export const runSteps = ["worker.invoice-batch", "worker.finish-run"] as const;
const [INVOICE, FINISH] = runSteps;

/** Accounts whose rows one transaction locks; changes by their tenants wait for it. */
const BATCH = 100;
/** Maximum concurrent batches per worker, which leaves capacity for its other work and for PostgreSQL. */
const AT_ONCE = 3;
const BEAT_MS = 2000;

type RunDeps = {
  db: Db;
  clock: Clock;
  afterInvoices: AfterInvoices;
  /** Wraps each batch, so that it can be delayed or stopped. */
  limited: (batch: () => Promise<void>) => Promise<void>;
};

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

/** Invoices the accounts of a run that have no invoice yet, and closes the run. It can be repeated. */
export async function runBillingBatch(deps: RunDeps, key: RunKey): Promise<void> {
  const { db, clock } = deps;
  const run = await findRun(db, key);
  if (run === undefined || run.finished_at !== null) return;
  const faults: Error[] = [];
  for (let last = 0, left = true; left; ) {
    await deps.limited(async () => {
      await db.transaction().execute(requireCurrent);
      const ids = await accountsToInvoice(db, run, endOf(run.month), last, BATCH);
      faults.push(...(await invoiceEach(deps, run, ids)));
      last = ids.at(-1) ?? last;
      left = ids.length === BATCH;
    });
  }
  // The run stays open for the failed accounts: the workflow retries, and the others have their invoices.
  if (faults.length > 0) throw new AggregateError(faults, faults.map(({ message }) => message).join("; "));
  await transact(db, FINISH, (tx) => finishRun(tx, key, clock()));
}

/** All in one transaction, or each by itself if that fails: one account's error must not block the others' invoices. */
async function invoiceEach(deps: RunDeps, run: BillingRun, ids: readonly number[]): Promise<Error[]> {
  if (ids.length === 0) return [];
  const { db, clock, afterInvoices } = deps;
  try {
    const month = { until: endOf(run.month), at: clock(), afterInvoices };
    await transact(db, INVOICE, (tx) => invoiceAccounts(tx, ids, month));
    return [];
  } catch (error) {
    if (ids.length === 1)
      return [new Error(`account ${ids[0]} could not be invoiced: ${String(error)}`, { cause: error })];
    const half = Math.ceil(ids.length / 2);
    const first = await invoiceEach(deps, run, ids.slice(0, half));
    return [...first, ...(await invoiceEach(deps, run, ids.slice(half)))];
  }
}
