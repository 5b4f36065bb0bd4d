import { proxyLocalActivities } from "@temporalio/workflow";
import { untilObserved } from "#fleet/workflows/until-observed.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { DatabaseActivities } from "../activities.ts";

const { wantTombstones, settleDelete } = proxyLocalActivities<DatabaseActivities>({ startToCloseTimeout: "5 seconds" });

/** The row is gone already; this ends when every host has stopped its node and put the volume into the trash. */
export async function deleteDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  await wantTombstones(operationId);
  const outcome = await untilObserved(input, "gone");
  if (outcome.state === "observed") return settleDelete(operationId, { done: true });
  return settleDelete(operationId, {
    done: false,
    message:
      outcome.state === "failed"
        ? outcome.message
        : "A host has not confirmed the deletion yet. It will be finished when the host is back.",
  });
}
