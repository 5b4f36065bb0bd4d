import { proxyLocalActivities } from "@temporalio/workflow";
import { untilObserved } from "#fleet/workflows/until-observed.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities, Unwanted } from "../change-activities.ts";
import { formMembers, settlementOf } from "./form-group.ts";
import { rollChange } from "./roll-change.ts";

const { wantChange, settleChange } = proxyLocalActivities<ChangeActivities>({ startToCloseTimeout: "5 seconds" });

const reasons: Record<Unwanted, string> = {
  "no room": "its host has no room for it. Ask the operator.",
  "not there": "its host lost this database when the control plane was restored. Ask the operator.",
  "too late": "it could not be begun in time.",
};

/** What every change of a database tells: wanted of its hosts, at once or one by one, and done when all have followed. */
export async function followChange(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const wanted = await wantChange(operationId);
  if (wanted === "one by one") return rollChange(input);
  if (wanted === "wanted apart") return settleChange(operationId, settlementOf(await formMembers(input)));
  if (wanted !== "wanted") return settleChange(operationId, { done: false, message: reasons[wanted] });
  const outcome = await untilObserved(input, "change");
  if (outcome.state === "observed") return settleChange(operationId, { done: true });
  return settleChange(operationId, {
    done: false,
    ...(outcome.state === "failed" ? { message: outcome.message } : {}),
  });
}
