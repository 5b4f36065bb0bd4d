import {
  type Client,
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from "@temporalio/client";
import { step } from "@moorage/crash-points";
import type { Clock } from "#platform/clock.ts";
import { listen } from "#platform/db/notifications.ts";
import type { Db } from "#platform/db/database.ts";
import type { Log } from "#platform/log.ts";
import { createPause } from "#platform/pause.ts";
import { repairNamespace } from "#platform/temporal/connection.ts";
import { isTrue, mayWork } from "./current.ts";
import { deleteSignals, markStarted, type OperationRow, operationsToStart, signalsToSend } from "./operation-store.ts";
import { RECHECK_SIGNAL, TASK_QUEUE, type WorkflowInput, workflowIdOf } from "./workflow-id.ts";

const BATCH = 100;
const POLL_MS = 250;
/** gRPC's status code. */
const INVALID_ARGUMENT = 3;

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
  "relay.signal": async ({ temporal, log }: RelayDeps, workflowId: string): Promise<void> => {
    try {
      await temporal.workflow.getHandle(workflowId).signal(RECHECK_SIGNAL);
    } catch (error) {
      // Not started yet, or ended: the signal has no recipient, and the next run reads the tables anyway.
      if (error instanceof WorkflowNotFoundError) return;
      if (!isRefusedForGood(error)) throw error;
      log.warn(
        { err: error, workflow: workflowId },
        "Temporal refuses to signal a workflow; it checks its tables every 30 s",
      );
    }
  },
  "relay.delete-signals": async ({ db }: RelayDeps, ids: readonly number[]): Promise<void> => {
    await deleteSignals(db, ids);
  },
};

/** A workflow takes 10,000 signals. Without them it reads the tables when its own timer ends. */
const isRefusedForGood = (error: unknown): boolean =>
  error instanceof Error &&
  isGrpcServiceError(error.cause) &&
  (error.cause as { code: number }).code === INVALID_ARGUMENT;

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
  // These rows may be older than the work that they describe.
  if (!(await isTrue(deps.db, mayWork))) return;
  const started = await tryEach(await operationsToStart(deps.db, BATCH), (operation) =>
    step("relay.start", () => relaySteps["relay.start"](deps, operation)),
  );
  if (started.ids.length > 0)
    await step("relay.mark-started", () => relaySteps["relay.mark-started"](deps, started.ids));
  const sent = await tryEach(await signalsToSend(deps.db, BATCH), async ({ operation_id, run, settled_at }) => {
    const workflow = workflowIdOf({ id: operation_id, run });
    if (settled_at === null) await step("relay.signal", () => relaySteps["relay.signal"](deps, workflow));
  });
  if (sent.ids.length > 0) await step("relay.delete-signals", () => relaySteps["relay.delete-signals"](deps, sent.ids));
  const [failure] = [...started.failures, ...sent.failures];
  if (failure !== undefined) throw failure;
}

/** A row that fails stays for the next round and does not keep the others. */
async function tryEach<Row extends { id: number }>(rows: readonly Row[], send: (row: Row) => Promise<void>) {
  const results = await Promise.allSettled(rows.map(send));
  return {
    ids: rows.filter((_row, at) => results[at]?.status === "fulfilled").map(({ id }) => id),
    failures: results.flatMap((result) => (result.status === "rejected" ? [result.reason as Error] : [])),
  };
}
