import type { Text } from "@moorage/contract/texts";
import { proxyLocalActivities } from "@temporalio/workflow";
import { waitForPhase } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities } from "../activities.ts";
import { texts as databaseTexts } from "../model/texts.ts";
import type { ChangeRefusal } from "../updates/apply-change.ts";
import { bootstrapMembers, settlementOf } from "./bootstrap-group.ts";
import { rollChange } from "./roll-change.ts";
import { texts } from "./texts.ts";

const { applyChange, endChange } = proxyLocalActivities<ChangeActivities>({ startToCloseTimeout: "5 seconds" });

const reasons: Record<ChangeRefusal, Text> = {
  "no room": texts.noCapacityOnHost(),
  "not there": texts.databaseNotOnHost(),
  "too late": texts.startedTooLate(),
};

/**
 * The workflow of every row of `changes`: sent to the hosts, all at once or one by one, and done when all have applied
 * it. On failure the columns that the change keeps are rolled back.
 */
export async function followChange(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const requested = await applyChange(operationId);
  if (requested === "one by one") return rollChange(input);
  if (requested === "requested out of group")
    return endChange(operationId, settlementOf(await bootstrapMembers(input)));
  if (requested !== "requested") return endChange(operationId, { done: false, message: reasons[requested] });
  const outcome = await waitForPhase(input, "change");
  if (outcome.state === "observed") return endChange(operationId, { done: true });
  return endChange(operationId, {
    done: false,
    ...(outcome.state === "failed" ? { message: databaseTexts.hostReported(outcome) } : {}),
  });
}
