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

/** pending_upload → available, or failed with the reason; removes objects that are not part of the image. */
export async function importImage(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const outcome = await untilStored(input);
  if (outcome !== "settled") await settleUpload(operationId, outcome);
  await clearUpload(operationId).catch(unlessCancelled);
}

/** Retries until the deadline: an unreachable store or a dead worker is not a fault of the upload. */
async function untilStored({ operationId, deadlineAt }: WorkflowInput): Promise<UploadOutcome | "settled"> {
  const deadline = new Date(deadlineAt).getTime();
  for (let left = deadline - Date.now(); left > 0; left = deadline - Date.now()) {
    const bounded = { scheduleToCloseTimeout: left, retry };
    const { importUpload } = proxyActivities<ImportActivities>({
      ...bounded,
      startToCloseTimeout: left,
      // A dead worker is noticed after this time.
      heartbeatTimeout: "15 seconds",
    });
    const { settleUpload: settleStored } = proxyActivities<ImportActivities>({
      ...bounded,
      startToCloseTimeout: "1 minute",
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
