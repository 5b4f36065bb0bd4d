import { condition, defineSignal, proxyLocalActivities, setHandler } from "@temporalio/workflow";
import { RECHECK_SIGNAL, type WorkflowInput } from "#operations/workflow-id.ts";
import type { FleetActivities } from "../activities.ts";

const { checkPhaseOf } = proxyLocalActivities<FleetActivities>({ startToCloseTimeout: "5 seconds" });
const recheck = defineSignal(RECHECK_SIGNAL);

/** A signal is only a hint: this is how long a lost one can delay us. */
const MAX_RECHECK_MS = 30_000;

export type Outcome = { state: "observed" } | { state: "failed"; message: string } | { state: "late" };

/** Looks until there is an answer, at every hint and in between. Undefined: there was none when the deadline had passed. */
export async function pollUntil<Answer>(
  { deadlineAt }: Pick<WorkflowInput, "deadlineAt">,
  check: () => Promise<Answer | undefined>,
): Promise<Answer | undefined> {
  let hinted = false;
  setHandler(recheck, () => {
    hinted = true;
  });
  for (;;) {
    // Cleared before reading: a hint that comes meanwhile makes us read once more, never once too few.
    hinted = false;
    const answer = await check();
    if (answer !== undefined) return answer;
    const left = new Date(deadlineAt).getTime() - Date.now();
    if (left <= 0) return undefined;
    await condition(() => hinted, Math.min(left, MAX_RECHECK_MS));
  }
}

/**
 * Waits until every node of the phase is as wanted, one of them failed, or the operation's deadline has passed; or until
 * there is another reason why they never will be.
 */
export async function waitForPhase(
  input: WorkflowInput,
  phase: string,
  whyStuck: () => Promise<string | undefined> = async () => undefined,
): Promise<Outcome> {
  const outcome = await pollUntil(input, async (): Promise<Outcome | undefined> => {
    const progress = await checkPhaseOf(input.operationId, phase);
    if (progress.state !== "pending") return progress;
    const message = await whyStuck();
    return message === undefined ? undefined : { state: "failed", message };
  });
  return outcome ?? { state: "late" };
}
