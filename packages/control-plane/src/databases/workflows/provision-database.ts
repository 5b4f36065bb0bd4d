import { patched, proxyLocalActivities } from "@temporalio/workflow";
import { untilObserved } from "#fleet/workflows/until-observed.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { DatabaseActivities } from "../activities.ts";
import { whyNotFormed } from "./form-group.ts";
import { nameStep } from "./name-step.ts";

const { wantNodes, settleProvision } = proxyLocalActivities<DatabaseActivities>({ startToCloseTimeout: "5 seconds" });

/** provisioning → active when every node answers on its host and its names lead there, else failed with the reason. */
export async function provisionDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const wanted = await wantNodes(operationId);
  if (wanted === "no room")
    return settleProvision(operationId, {
      done: false,
      message:
        "No host of this region has room for this type. Choose a smaller type or another region, or ask the operator.",
    });
  const whyStuck = wanted === "wanted in a group" ? () => whyNotFormed(input) : undefined;
  const outcome = await untilObserved(input, "running", whyStuck);
  if (outcome.state === "observed") {
    if (!patched("names")) return settleProvision(operationId, { done: true });
    if (await nameStep(input, "publishNames")) return settleProvision(operationId, { done: true, named: true });
    return settleProvision(operationId, {
      done: false,
      message: "The name server could not be told of the database in time. Delete it and try again.",
    });
  }
  return settleProvision(operationId, {
    done: false,
    message:
      outcome.state === "failed"
        ? outcome.message
        : "The database could not be made ready in time. Delete it and try again.",
  });
}
