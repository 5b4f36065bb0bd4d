import { type Client, WorkflowNotFoundError } from "@temporalio/client";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import { repairNamespace } from "#platform/temporal/namespace.ts";
import type { WorkerPart } from "#platform/worker-part.ts";
import { nextRun, type OperationRow, operationsToSweep, sweepAgain } from "./operation-store.ts";
import { workflowIdOf } from "./workflow-id.ts";

export type SweeperDeps = {
  db: Db;
  temporal: Client;
  clock: Clock;
  log: Log;
  everySeconds: number;
  /** Their jobs run after each sweep, and they end their operations after the deadline. */
  parts: readonly Pick<WorkerPart, "expire" | "jobs">[];
};

const BATCH = 200;
/** A workflow ends its operation at the deadline itself; only a workflow that cannot run is this late. */
const GRACE_SECONDS = 60;

/** Restarts the lost workflows of open operations, and ends operations whose deadline has passed. */
export function startSweeper(deps: SweeperDeps): { close(): Promise<void> } {
  let closed = false;
  let wake = (): void => {};
  const loop = (async () => {
    while (!closed) {
      try {
        await sweepOnce(deps);
      } catch (error) {
        deps.log.warn({ err: error }, "the sweep did not finish; the next one continues");
      }
      await runJobs(deps);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, deps.everySeconds * 1000);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  })();
  return {
    async close() {
      closed = true;
      wake();
      await loop;
    },
  };
}

/** One after the other: each is short, because it finds its due work by index and takes a batch of it. */
async function runJobs({ parts, log }: SweeperDeps): Promise<void> {
  for (const [job, run] of parts.flatMap(({ jobs = {} }) => Object.entries(jobs)))
    await run().catch((error: unknown) =>
      log.warn({ err: error, job }, "a job did not finish; the next round continues"),
    );
}

export async function sweepOnce(deps: SweeperDeps): Promise<void> {
  for (const operation of await operationsToSweep(deps.db, deps.clock(), BATCH)) {
    try {
      await sweep(deps, operation);
    } catch (error) {
      deps.log.warn({ err: error, operation: operation.id }, "could not sweep an operation");
      await repairNamespace(deps.temporal, error).catch(() => {});
    }
  }
}

async function sweep(deps: SweeperDeps, operation: OperationRow): Promise<void> {
  const { db, clock, log, everySeconds } = deps;
  if (operation.deadline_at.getTime() + GRACE_SECONDS * 1000 < clock().getTime()) {
    log.warn({ operation: operation.id, kind: operation.kind }, "operation is past its deadline; ending it");
    const part = deps.parts.find(({ expire = {} }) => operation.kind in expire);
    await part?.expire?.[operation.kind]?.(operation.id);
    return;
  }
  // Not started: the relay starts it.
  const lost = operation.started_at !== null && !(await isRunning(deps.temporal, workflowIdOf(operation)));
  if (lost && (await nextRun(db, operation)) !== undefined)
    log.warn({ operation: operation.id, run: operation.run + 1 }, "workflow was lost; starting it again");
  await sweepAgain(db, operation.id, clock(), everySeconds);
}

async function isRunning(temporal: Client, workflowId: string): Promise<boolean> {
  try {
    const { status } = await temporal.workflow.getHandle(workflowId).describe();
    return status.name === "RUNNING";
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
