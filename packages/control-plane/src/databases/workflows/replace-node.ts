import { proxyLocalActivities } from "@temporalio/workflow";
import { pollUntil, waitForPhase } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities } from "../activities.ts";
import type { Settlement } from "../changes/change.ts";
import type { Unreplaced } from "../clusters/health/replace-activities.ts";
import { dnsStep } from "./shared-steps.ts";
import { texts } from "./texts.ts";

const { placeReplacement, tombstoneReplaced, whyStuck, endChange } = proxyLocalActivities<ChangeActivities>({
  startToCloseTimeout: "5 seconds",
});

const failed = (why: string): Settlement => ({ done: false, message: texts.replacementFailed({ why }) });

const unreplaced: Record<Unreplaced, Settlement> = {
  "no room": failed(texts.noCapacityForReplacement().text),
  "not needed": { done: true, message: texts.replacementNotNeeded() },
  overtaken: failed(texts.overtaken().text),
};

/** The database stays degraded; after the end the health check sets its status. */
export async function replaceNode(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const placed = await pollUntil(input, async () => {
    const answer = await placeReplacement(operationId);
    return answer === "hosts are busy" ? undefined : answer;
  });
  if (placed === undefined) return endChange(operationId, failed(texts.replacementLate().text));
  if (placed !== "placed") return endChange(operationId, unreplaced[placed]);
  await tombstoneReplaced(operationId);
  let isDiverged = false;
  const outcome = await waitForPhase(input, "replace", async () => {
    const stuck = await whyStuck(operationId);
    if (stuck === undefined || "why" in stuck) return stuck?.why;
    isDiverged = stuck.again;
    return "diverged";
  });
  // The health check replaces it again at once; after a failure it would wait.
  if (isDiverged) return endChange(operationId, { done: true, message: texts.replacementDiverged() });
  if (outcome.state === "late") return endChange(operationId, failed(texts.replacementLate().text));
  if (outcome.state === "failed") return endChange(operationId, failed(outcome.message));
  // Clients that still try the old host's address fail over to the others; this only spares them the attempt.
  const isPublished = await dnsStep(input, "publishDnsRecords");
  return endChange(operationId, isPublished ? { done: true } : { done: true, message: texts.replacementNotInDns() });
}
