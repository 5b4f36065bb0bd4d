import { proxyLocalActivities } from "@temporalio/workflow";
import { waitForPhase } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { DatabaseActivities } from "../activities.ts";

const { setDesiredAllowList, settleUpdate } = proxyLocalActivities<DatabaseActivities>({
  startToCloseTimeout: "5 seconds",
});

/** updating → active when every host admits only the new list, else active with the previous list. */
export async function applyAllowList(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  if ((await setDesiredAllowList(operationId)) === "not there")
    return settleUpdate(operationId, {
      done: false,
      message: "Its host lost this database when the control plane was restored. Ask the operator.",
    });
  const outcome = await waitForPhase(input, "allow-list");
  if (outcome.state === "observed") return settleUpdate(operationId, { done: true });
  return settleUpdate(operationId, {
    done: false,
    ...(outcome.state === "failed" ? { message: outcome.message } : {}),
  });
}
