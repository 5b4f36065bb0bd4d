import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from "@temporalio/client";
import { step } from "@moorage/crash-points";
import type { Clock } from "#platform/clock.ts";
import { listen } from "#platform/db/notifications.ts";
import type { Db } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import { createPause } from "#platform/pause.ts";
import { repairNamespace } from "#platform/temporal/namespace.ts";
import { deleteSignals, markStarted, type OperationRow, operationsToStart, signalsToSend } from "./operation-store.ts";
import { RECHECK_SIGNAL, TASK_QUEUE, type WorkflowInput, workflowIdOf } from "./workflow-id.ts";

const BATCH = 100;
const POLL_MS = 250;

export type RelayDeps = { db: Db; databaseUrl: string; temporal: Client; clock: Clock; log: Log };

/** The steps at which a relay can die. Each is repeatable, so that any number of relays may run. */
export const relaySteps = {
  "relay.start": async ({ temporal }: RelayDeps, operation: OperationRow): Promise<void> => {
    const input: WorkflowInput = { operationId: operation.id, deadlineAt: operation.deadline_at.toISOString() };
    try {
      await temporal.workflow.start(operation.kind, {
        workflowId: workflowIdOf(operation),
        taskQueue: TASK_QUEUE,
        workflowIdReusePolicy: "REJECT_DUPLICATE",
        // After this time Temporal reassigns a workflow task whose worker has died.
        workflowTaskTimeout: "5 seconds",
        args: [input],
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  },
  "relay.mark-started": async ({ db, clock }: RelayDeps, ids: readonly number[]): Promise<void> => {
    await markStarted(db, ids, clock());
  },
  "relay.signal": async ({ temporal }: RelayDeps, workflowId: string): Promise<void> => {
    try {
      await temporal.workflow.getHandle(workflowId).signal(RECHECK_SIGNAL);
    } catch (error) {
      // Not started yet, or ended: the signal has no recipient, and the next run reads the tables anyway.
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  },
  "relay.delete-signals": async ({ db }: RelayDeps, ids: readonly number[]): Promise<void> => {
    await deleteSignals(db, ids);
  },
};

/**
 * Carries rows to Temporal: operations become workflows, signal rows become signals. Polls, and runs at once when
 * nudged.
 */
export function startRelay(deps: RelayDeps): { close(): Promise<void> } {
  const { pause, wake } = createPause(POLL_MS);
  let closed = false;
  const listener = listen(deps.databaseUrl, "relay", deps.log, { onNotification: wake, onConnect: wake });

  const loop = (async () => {
    while (!closed) {
      try {
        await relayOnce(deps);
      } catch (error) {
        deps.log.warn({ err: error }, "relay could not reach Temporal or Postgres; rows stay for the next round");
        await repairNamespace(deps.temporal, error).catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 1000));
      }
      await pause();
    }
  })();
  return {
    async close() {
      closed = true;
      wake();
      await listener.close();
      await loop;
    },
  };
}

export async function relayOnce(deps: RelayDeps): Promise<void> {
  const operations = await operationsToStart(deps.db, BATCH);
  if (operations.length > 0) {
    await Promise.all(
      operations.map((operation) => step("relay.start", () => relaySteps["relay.start"](deps, operation))),
    );
    const ids = operations.map(({ id }) => id);
    await step("relay.mark-started", () => relaySteps["relay.mark-started"](deps, ids));
  }
  const signals = await signalsToSend(deps.db, BATCH);
  if (signals.length > 0) {
    const open = signals.filter(({ settled_at }) => settled_at === null);
    const workflows = new Set(open.map(({ operation_id, run }) => workflowIdOf({ id: operation_id, run })));
    await Promise.all([...workflows].map((id) => step("relay.signal", () => relaySteps["relay.signal"](deps, id))));
    const ids = signals.map(({ id }) => id);
    await step("relay.delete-signals", () => relaySteps["relay.delete-signals"](deps, ids));
  }
}
