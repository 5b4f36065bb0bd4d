import type { Text } from "@moorage/contract/texts";
import { proxyLocalActivities } from "@temporalio/workflow";
import { waitForPhase } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities } from "../activities.ts";
import { texts } from "../model/texts.ts";
import { whyNotBootstrapped } from "./bootstrap-group.ts";
import { dnsStep } from "./shared-steps.ts";

const { setDesiredNodes, endChange } = proxyLocalActivities<ChangeActivities>({
  startToCloseTimeout: "5 seconds",
});

/** provisioning → active when every node answers on its host and has DNS records, else failed with the reason. */
export async function provisionDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const requested = await setDesiredNodes(operationId);
  if (requested === "no room") return endChange(operationId, { done: false, message: texts.noCapacityInRegion() });
  let stuck: Text | undefined;
  const whyStuck = async (): Promise<string | undefined> => {
    if (requested === "requested in a group") stuck = await whyNotBootstrapped(input);
    return stuck?.text;
  };
  const outcome = await waitForPhase(input, "running", whyStuck);
  if (outcome.state === "observed") {
    if (await dnsStep(input, "publishDnsRecords")) return endChange(operationId, { done: true, dnsPublished: true });
    return endChange(operationId, { done: false, message: texts.dnsNotPublished() });
  }
  return endChange(operationId, {
    done: false,
    message: outcome.state === "failed" ? (stuck ?? texts.hostReported(outcome)) : texts.provisionLate(),
  });
}
