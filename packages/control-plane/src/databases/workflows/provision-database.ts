import { proxyLocalActivities } from "@temporalio/workflow";
import { waitForPhase } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { DatabaseActivities } from "../activities.ts";
import { whyNotBootstrapped } from "./bootstrap-group.ts";
import { dnsStep } from "./dns-step.ts";

const { setDesiredNodes, settleProvision } = proxyLocalActivities<DatabaseActivities>({
  startToCloseTimeout: "5 seconds",
});

/** provisioning → active when every node answers on its host and has DNS records, else failed with the reason. */
export async function provisionDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const requested = await setDesiredNodes(operationId);
  if (requested === "no room")
    return settleProvision(operationId, {
      done: false,
      message:
        "No host of this region has room for this type. Choose a smaller type or another region, or ask the operator.",
    });
  const whyStuck = requested === "requested in a group" ? () => whyNotBootstrapped(input) : undefined;
  const outcome = await waitForPhase(input, "running", whyStuck);
  if (outcome.state === "observed") {
    if (await dnsStep(input, "publishDnsRecords"))
      return settleProvision(operationId, { done: true, dnsPublished: true });
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
