import { type Client, WorkflowNotFoundError } from "@temporalio/client";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import { repairNamespace } from "#platform/temporal/connection.ts";
import { createPause } from "#platform/pause.ts";
import type { Closable, Jobs, Loop, WorkerPart } from "#platform/worker-part.ts";
import { isCurrent, isTrue } from "./current.ts";
import { nextRun, type OperationRow, operationsToSweep, sweepAgain } from "./operation-store.ts";
import { workflowIdOf } from "./workflow-id.ts";

export type SweeperDeps = {
  db: Db;
  temporal: Client;
  clock: Clock;
  log: Log;
  everySeconds: number;
  /** Their jobs run here, and they end their operations after the deadline. */
  parts: readonly Pick<WorkerPart, "expire" | "jobs" | "proofs">[];
};

const BATCH = 200;
/** A workflow ends its operation at the deadline itself; only a workflow that cannot run is this late. */
const GRACE_SECONDS = 60;

/**
 * Restarts the lost workflows of open operations, ends operations whose deadline has passed, and runs the jobs of all
 * parts. Each loop has its own pause and never overlaps with itself.
 *
 * Nothing is restarted, ended, charged or deleted by rows that may be older than what happened: the proofs find whether
 * the database is current, and everything else waits for that. A proof may ask the payment provider, so each has a loop
 * of its own too.
 */
export function startSweeper(deps: SweeperDeps): { close(): Promise<void> } {
  const proofs = deps.parts.flatMap((part) => Object.entries(part.proofs ?? {}));
  const running = [
    ...proofs.map((proof) => startLoop(deps, [proof])),
    // Asks Temporal about each operation.
    startLoop(deps, gated(deps, { sweep: () => sweepOnce(deps) })),
    ...(["health", "rows", "remote"] satisfies Loop[]).map((loop) =>
      startLoop(
        deps,
        deps.parts.flatMap(({ jobs = {} }) => gated(deps, jobs[loop])),
      ),
    ),
  ];
  return {
    async close() {
      await Promise.all(running.map((each) => each.close()));
    },
  };
}

type Job = [name: string, run: () => Promise<void>];

/** A job may run for minutes, and PostgreSQL may be replaced meanwhile: each job of a round asks anew. */
const gated = ({ db }: SweeperDeps, jobs: Jobs = {}): Job[] =>
  Object.entries(jobs).map(([name, run]) => [
    name,
    async () => {
      if (await isTrue(db, isCurrent)) await run();
    },
  ]);

/** One after the other: each finds its due work by index and takes a batch of it. */
function startLoop({ log, everySeconds }: SweeperDeps, jobs: readonly Job[]): Closable {
  const { pause, wake } = createPause(everySeconds * 1000);
  let closed = false;
  const loop = (async () => {
    while (!closed) {
      for (const [job, run] of jobs) {
        if (closed) break;
        await run().catch((error: unknown) =>
          log.warn({ err: error, job }, "a job did not finish; the next round continues"),
        );
      }
      if (!closed) await pause();
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

export async function sweepOnce(deps: SweeperDeps): Promise<void> {
  for (const operation of await operationsToSweep(deps.db, deps.clock(), BATCH)) {
    try {
      await sweep(deps, operation);
    } catch (error) {
      deps.log.warn({ err: error, operation: operation.id }, "could not sweep an operation");
      await repairNamespace(deps.temporal, error).catch(() => {});
      // Behind those that were not tried: more of them than a round takes would keep all others.
      await sweepAgain(deps.db, operation.id, deps.clock(), deps.everySeconds);
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
