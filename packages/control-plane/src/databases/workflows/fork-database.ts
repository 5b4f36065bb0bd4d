import { proxyLocalActivities, sleep } from "@temporalio/workflow";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities } from "../activities.ts";
import { waitForShip } from "./shared-steps.ts";
import { provisionDatabase } from "./provision-database.ts";

const { shipSource, whyNotForkable, endChange } = proxyLocalActivities<ChangeActivities>({
  startToCloseTimeout: "5 seconds",
});

/** provisioning → active like any other database, once the source's point is in the archive. */
export async function forkDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  let requested = await shipSource(operationId);
  while (requested === "too soon") {
    await sleep("1 second");
    requested = await shipSource(operationId);
  }
  const outcome = requested === "requested" ? await waitForShip(input) : undefined;
  const why = await whyNotForkable(operationId, outcome?.state === "observed");
  if (why !== undefined) return endChange(operationId, { done: false, message: why });
  return provisionDatabase(input);
}
