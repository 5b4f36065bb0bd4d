import { proxyLocalActivities } from "@temporalio/workflow";
import { waitForPhase } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities } from "../activities.ts";
import { texts as backupTexts } from "../backups/texts.ts";
import { texts as databaseTexts } from "../model/texts.ts";
import { texts } from "./texts.ts";

const { requestCopy, endChange } = proxyLocalActivities<ChangeActivities>({ startToCloseTimeout: "5 seconds" });

const refusals = { "not there": texts.databaseNotOnHost(), "no archive": backupTexts.noArchive() };

/** backing_up → active, with a new backup when its host has stored a complete copy, else with the reason. */
export async function backUpDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const requested = await requestCopy(operationId);
  if (requested !== "requested") return endChange(operationId, { done: false, message: refusals[requested] });
  const outcome = await waitForPhase(input, "copy");
  if (outcome.state === "observed") return endChange(operationId, { done: true });
  return endChange(operationId, {
    done: false,
    ...(outcome.state === "failed" ? { message: databaseTexts.hostReported(outcome) } : {}),
  });
}
