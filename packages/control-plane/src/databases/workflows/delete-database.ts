import { patched, proxyLocalActivities } from "@temporalio/workflow";
import { untilObserved } from "#fleet/workflows/until-observed.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { DatabaseActivities } from "../activities.ts";
import type { ShipActivities } from "../timelines/ship-activities.ts";
import { nameStep } from "./name-step.ts";
import { SHIP_MS, within } from "./within.ts";

const { shipLast, wantTombstones, settleDelete } = proxyLocalActivities<ShipActivities & DatabaseActivities>({
  startToCloseTimeout: "5 seconds",
});

/** The row is gone already; this ends when its names are, and every host has put its volume into the trash. */
export async function deleteDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  if (patched("ship") && (await shipLast(operationId)) === "wanted")
    await untilObserved(within(input, SHIP_MS), "ship");
  // Before the names: the hosts close the gates and go on by themselves, whatever the name server does.
  await wantTombstones(operationId);
  const withdrawn = patched("names") ? await nameStep(input, "withdrawNames") : true;
  const outcome = await untilObserved(input, "gone");
  if (outcome.state === "observed" && withdrawn) return settleDelete(operationId, { done: true });
  return settleDelete(operationId, { done: false, message: messageOf(outcome) });
}

function messageOf(outcome: Awaited<ReturnType<typeof untilObserved>>): string {
  if (outcome.state === "failed") return outcome.message;
  return outcome.state === "observed"
    ? "The name server has not been told of the deletion yet. The names go when it is back."
    : "A host has not confirmed the deletion yet. It will be finished when the host is back.";
}
