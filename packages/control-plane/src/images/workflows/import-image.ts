import { ActivityFailure, isCancellation, proxyActivities } from "@temporalio/workflow";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ImportActivities } from "../import/import-activities.ts";
import type { UploadOutcome } from "../import/import-upload.ts";

const retry = { initialInterval: "1 second", maximumInterval: "10 seconds" } as const;

const { settleUpload } = proxyActivities<ImportActivities>({ startToCloseTimeout: "30 seconds", retry });
const { clearUpload } = proxyActivities<ImportActivities>({
  startToCloseTimeout: "2 minutes",
  // The daily sweep clears what this does not.
  retry: { ...retry, maximumAttempts: 10 },
});

/** pending_upload → available, or failed with the reason; what the image is not made of goes from the store. */
export async function importImage(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const outcome = await untilStored(input);
  if (outcome !== "settled") await settleUpload(operationId, outcome);
  await clearUpload(operationId).catch(unlessCancelled);
}

/** Again and again until the deadline: a store that is away, and a worker that dies, are no faults of the upload. */
async function untilStored({ operationId, deadlineAt }: WorkflowInput): Promise<UploadOutcome | "settled"> {
  const deadline = new Date(deadlineAt).getTime();
  for (let left = deadline - Date.now(); left > 0; left = deadline - Date.now()) {
    const bounded = { scheduleToCloseTimeout: left, retry };
    const { importUpload } = proxyActivities<ImportActivities>({
      ...{ ...bounded, startToCloseTimeout: left },
      // A worker that died is noticed after so long.
      heartbeatTimeout: "15 seconds",
    });
    const { settleUpload: settleStored } = proxyActivities<ImportActivities>({
      ...{ ...bounded, startToCloseTimeout: "1 minute" },
    });
    try {
      const outcome = await importUpload(operationId);
      if (outcome.kind !== "taken") return outcome;
      if ((await settleStored(operationId, outcome)) === "settled") return "settled";
    } catch (error) {
      unlessCancelled(error);
    }
  }
  return { kind: "late" };
}

function unlessCancelled(error: unknown): void {
  if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
}
