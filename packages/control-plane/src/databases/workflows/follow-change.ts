import { proxyLocalActivities } from "@temporalio/workflow";
import { waitForPhase } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities, ChangeRefusal } from "../change-activities.ts";
import { bootstrapMembers, settlementOf } from "./bootstrap-group.ts";
import { rollChange } from "./roll-change.ts";

const { applyChange, settleChange } = proxyLocalActivities<ChangeActivities>({ startToCloseTimeout: "5 seconds" });

const reasons: Record<ChangeRefusal, string> = {
  "no room": "its host has no room for it. Ask the operator.",
  "not there": "its host lost this database when the control plane was restored. Ask the operator.",
  "too late": "it could not be begun in time.",
};

/** The course of every change: sent to the hosts, all at once or one by one, and done when all have applied it. */
export async function followChange(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const requested = await applyChange(operationId);
  if (requested === "one by one") return rollChange(input);
  if (requested === "requested out of group")
    return settleChange(operationId, settlementOf(await bootstrapMembers(input)));
  if (requested !== "requested") return settleChange(operationId, { done: false, message: reasons[requested] });
  const outcome = await waitForPhase(input, "change");
  if (outcome.state === "observed") return settleChange(operationId, { done: true });
  return settleChange(operationId, {
    done: false,
    ...(outcome.state === "failed" ? { message: outcome.message } : {}),
  });
}
