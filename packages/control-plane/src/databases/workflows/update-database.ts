import { proxyLocalActivities } from "@temporalio/workflow";
import { untilObserved } from "#fleet/workflows/until-observed.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { DatabaseActivities } from "../activities.ts";

const { wantAllowList, settleUpdate } = proxyLocalActivities<DatabaseActivities>({ startToCloseTimeout: "5 seconds" });

/** updating → active when every host lets in the new list alone, else active with the list before it. */
export async function updateDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  if ((await wantAllowList(operationId)) === "not there")
    return settleUpdate(operationId, {
      done: false,
      message: "Its host lost this database when the control plane was restored. Ask the operator.",
    });
  const outcome = await untilObserved(input, "allow-list");
  if (outcome.state === "observed") return settleUpdate(operationId, { done: true });
  return settleUpdate(operationId, {
    done: false,
    ...(outcome.state === "failed" ? { message: outcome.message } : {}),
  });
}
