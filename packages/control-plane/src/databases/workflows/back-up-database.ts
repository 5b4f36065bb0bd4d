import { proxyLocalActivities } from "@temporalio/workflow";
import { waitForPhase } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { BackupActivities } from "../backups/backup-activities.ts";

const { requestCopy, settleBackup } = proxyLocalActivities<BackupActivities>({ startToCloseTimeout: "5 seconds" });

const refusals = {
  "not there": "its host lost this database when the control plane was restored. Ask the operator.",
  "no archive": "nothing of this database is kept in the object store. Ask the operator.",
};

/** backing_up → active, with a new backup when its host has stored a complete copy, else with the reason. */
export async function backUpDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const requested = await requestCopy(operationId);
  if (requested !== "requested") return settleBackup(operationId, { done: false, message: refusals[requested] });
  const outcome = await waitForPhase(input, "copy");
  if (outcome.state === "observed") return settleBackup(operationId, { done: true });
  return settleBackup(operationId, {
    done: false,
    ...(outcome.state === "failed" ? { message: outcome.message } : {}),
  });
}
