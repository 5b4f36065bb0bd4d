import { step } from "@moorage/crash-points";
import { type Client, WorkflowExecutionAlreadyStartedError } from "@temporalio/client";
import { requireCurrent, TASK_QUEUE } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { findFirstAccount, findLastMonth, insertRuns, openRuns, type RunKey } from "./billing-run-store.ts";
import { endOf, type Month, monthAfter, monthOf } from "./months.ts";

export const monthEndSteps = ["worker.cut-month", "worker.start-run"] as const;
const [CUT, START] = monthEndSteps;

export type MonthEndDeps = {
  db: Db;
  clock: Clock;
  eachDue: EachDue;
  temporal: Client;
  invoiceDelaySeconds: number;
  /** How many accounts one workflow invoices. */
  accountsEach: number;
};

/**
 * After a month's end: splits the accounts into runs, and starts a workflow for every open run. The row decides whether
 * a run is done, so a workflow that was lost, or whose result was lost, is simply started again.
 */
export const createMonthEndJob = (deps: MonthEndDeps) => {
  const { db, clock, temporal, accountsEach } = deps;
  const each = deps.eachDue("monthEnd", "run");
  return async (): Promise<void> => {
    // More than one, if no worker ran when a month ended.
    for (let month = await monthToEnd(deps); month !== undefined; month = await monthToEnd(deps)) {
      const ended = month;
      await transact(db, CUT, async (tx) => {
        await requireCurrent(tx);
        await insertRuns(tx, ended, accountsEach, clock());
      });
    }
    const runs = (await openRuns(db)).map(({ month, first_account }) => ({ month, firstAccount: first_account }));
    await each.run(
      runs.map((run) => ({ ...run, id: workflowIdOfRun(run) })),
      (run) => step(START, () => startRun(temporal, run)),
    );
  };
};

/**
 * The month after the last one that was split into runs, if it is over. Before the first account there was nothing to
 * invoice.
 */
async function monthToEnd({ db, clock, invoiceDelaySeconds }: MonthEndDeps): Promise<Month | undefined> {
  const last = await findLastMonth(db);
  const first = last === undefined ? await findFirstAccount(db) : undefined;
  const month = last === undefined ? first && monthOf(first.created_at) : monthAfter(last);
  const isOver = month !== undefined && endOf(month).getTime() + invoiceDelaySeconds * 1000 <= clock().getTime();
  return isOver ? month : undefined;
}

/** Derived from the run's row, so that every caller starts the same workflow. */
export const workflowIdOfRun = ({ month, firstAccount }: RunKey): string =>
  `month-end-${month.slice(0, 7)}-${firstAccount}`;

async function startRun(temporal: Client, run: RunKey): Promise<void> {
  try {
    await temporal.workflow.start("closeMonth", {
      workflowId: workflowIdOfRun(run),
      taskQueue: TASK_QUEUE,
      // A second one is not started while it runs.
      workflowIdReusePolicy: "ALLOW_DUPLICATE",
      workflowIdConflictPolicy: "FAIL",
      workflowTaskTimeout: "5 seconds",
      args: [run],
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
