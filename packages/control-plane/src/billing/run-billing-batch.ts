import { requireCurrent } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { accountsToInvoice, type BillingRun, findRun, finishRun, type RunKey } from "./billing-run-store.ts";
import { type AfterInvoices, invoiceAccounts } from "./invoice-accounts.ts";
import { endOf } from "./months.ts";

/** Accounts whose rows one transaction holds; their tenants' changes wait for as long as it takes. */
const BATCH = 100;

export const runSteps = ["worker.invoice-batch", "worker.finish-run"] as const;
const [INVOICE, FINISH] = runSteps;

export type RunDeps = {
  db: Db;
  clock: Clock;
  afterInvoices: AfterInvoices;
  /** Around each batch: before it there is time to wait, or to stop. */
  limited: (batch: () => Promise<void>) => Promise<void>;
};

/** Works through the accounts of a run that have no invoice yet, and closes it. To begin it again does no harm. */
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
  // The run stays open for them: the workflow tries again, and the others have theirs.
  if (faults.length > 0) throw new AggregateError(faults, faults.map(({ message }) => message).join("; "));
  await transact(db, FINISH, (tx) => finishRun(tx, key, clock()));
}

/** All together, or those that can: one account's trouble is not to cost the others their invoice. */
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
