import { proxyLocalActivities } from "@temporalio/workflow";
import { untilObserved } from "#fleet/workflows/until-observed.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ReplaceActivities, Unreplaced } from "../clusters/health/replace-activities.ts";
import type { Settlement } from "../settle.ts";
import { nameStep } from "./name-step.ts";

const { placeReplacement, buryReplaced, whyStuck, settleReplacing } = proxyLocalActivities<ReplaceActivities>({
  startToCloseTimeout: "5 seconds",
});

const failed = (why: string): Settlement => ({ done: false, message: `A lost node could not be replaced: ${why}` });

const unreplaced: Record<Unreplaced, Settlement> = {
  "no room": failed("no other host of its region has room. It is tried again."),
  "not needed": { done: true, message: "It came back by itself." },
  overtaken: failed("the database was asked for something else meanwhile."),
};

/** degraded; when it has ended, the cluster's health says what the database is. */
export async function replaceNode(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  const wanted = await placeReplacement(operationId);
  if (wanted !== "wanted") return settleReplacing(operationId, unreplaced[wanted]);
  await buryReplaced(operationId);
  const outcome = await untilObserved(input, "replace", () => whyStuck(operationId));
  if (outcome.state === "late") return settleReplacing(operationId, failed("the new one was not ready in time."));
  if (outcome.state === "failed") return settleReplacing(operationId, failed(outcome.message));
  // Clients that still try the old host's address find the others; this only spares them the try.
  const named = await nameStep(input, "publishNames");
  return settleReplacing(
    operationId,
    named ? { done: true } : { done: true, message: "The name server has not been told of the new node yet." },
  );
}
