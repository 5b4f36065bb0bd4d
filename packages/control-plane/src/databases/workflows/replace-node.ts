import { proxyLocalActivities } from "@temporalio/workflow";
import { waitForPhase } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ReplaceActivities, Unreplaced } from "../clusters/health/replace-activities.ts";
import type { Settlement } from "../settle.ts";
import { dnsStep } from "./dns-step.ts";

const { placeReplacement, tombstoneReplaced, whyStuck, settleReplacing } = proxyLocalActivities<ReplaceActivities>({
  startToCloseTimeout: "5 seconds",
});

const failed = (why: string): Settlement => ({ done: false, message: `A lost node could not be replaced: ${why}` });

const unreplaced: Record<Unreplaced, Settlement> = {
  "no room": failed("no other host of its region has room. It is tried again."),
  "not needed": { done: true, message: "It came back by itself." },
  overtaken: failed("the database was asked for something else meanwhile."),
};

/** The database stays degraded; after the end the health check sets its status. */
export async function replaceNode(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const placed = await placeReplacement(operationId);
  if (placed !== "placed") return settleReplacing(operationId, unreplaced[placed]);
  await tombstoneReplaced(operationId);
  const outcome = await waitForPhase(input, "replace", () => whyStuck(operationId));
  if (outcome.state === "late") return settleReplacing(operationId, failed("the new one was not ready in time."));
  if (outcome.state === "failed") return settleReplacing(operationId, failed(outcome.message));
  // Clients that still try the old host's address fail over to the others; this only spares them the attempt.
  const isPublished = await dnsStep(input, "publishDnsRecords");
  return settleReplacing(
    operationId,
    isPublished ? { done: true } : { done: true, message: "The name server has not been told of the new node yet." },
  );
}
