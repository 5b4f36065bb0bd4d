import { condition, defineSignal, proxyLocalActivities, setHandler } from "@temporalio/workflow";
import { LOOK_AGAIN, type WorkflowInput } from "#operations/workflow-id.ts";
import type { FleetActivities } from "../activities.ts";

const { checkPhaseOf } = proxyLocalActivities<FleetActivities>({ startToCloseTimeout: "5 seconds" });
const lookAgain = defineSignal(LOOK_AGAIN);

/** A signal is only a hint: this is how long a lost one can delay us. */
const LOOK_ANYWAY_MS = 30_000;

export type Outcome = { state: "observed" } | { state: "failed"; message: string } | { state: "late" };

/** Waits until every node of the phase is as wanted, one of them failed, or the operation's deadline has passed. */
export async function untilObserved({ operationId, deadlineAt }: WorkflowInput, phase: string): Promise<Outcome> {
  let hinted = false;
  setHandler(lookAgain, () => {
    hinted = true;
  });
  for (;;) {
    // Cleared before reading: a hint that comes meanwhile makes us read once more, never once too few.
    hinted = false;
    const progress = await checkPhaseOf(operationId, phase);
    if (progress.state !== "pending") return progress;
    const left = new Date(deadlineAt).getTime() - Date.now();
    if (left <= 0) return { state: "late" };
    await condition(() => hinted, Math.min(left, LOOK_ANYWAY_MS));
  }
}
