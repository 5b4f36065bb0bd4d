import type { Text } from "@moorage/contract/texts";
import { proxyLocalActivities } from "@temporalio/workflow";
import { waitForPhase } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities } from "../activities.ts";
import { texts } from "../model/texts.ts";
import { dnsStep, waitForShip } from "./shared-steps.ts";

const { shipLast, setTombstones, endChange } = proxyLocalActivities<ChangeActivities>({
  startToCloseTimeout: "5 seconds",
});

/**
 * The database is gone for its tenant already; this ends when its DNS records are withdrawn and every host has moved
 * its volume to the trash.
 */
export async function deleteDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  if ((await shipLast(operationId)) === "requested") await waitForShip(input);
  // Before the DNS records: the hosts close the firewalls and continue by themselves, even if the DNS server is down.
  await setTombstones(operationId);
  const withdrawn = await dnsStep(input, "withdrawDnsRecords");
  const outcome = await waitForPhase(input, "gone");
  if (outcome.state === "observed" && withdrawn) return endChange(operationId, { done: true });
  return endChange(operationId, { done: false, message: messageOf(outcome) });
}

function messageOf(outcome: Awaited<ReturnType<typeof waitForPhase>>): Text {
  if (outcome.state === "failed") return texts.hostReported(outcome);
  return outcome.state === "observed" ? texts.dnsNotWithdrawn() : texts.deletionUnconfirmed();
}
