import { condition, defineSignal, proxyLocalActivities, setHandler } from "@temporalio/workflow";
import { RECHECK_SIGNAL, type WorkflowInput } from "#operations/workflow-id.ts";
import type { FleetActivities } from "../check-phase.ts";

const { checkPhaseOf } = proxyLocalActivities<FleetActivities>({ startToCloseTimeout: "5 seconds" });
const recheck = defineSignal(RECHECK_SIGNAL);

/** A signal is only a hint: a lost one delays the workflow by at most this time. */
const MAX_RECHECK_MS = 30_000;

export type Outcome = { state: "observed" } | { state: "failed"; message: string } | { state: "late" };

/** Polls until there is an answer, at every signal and in between. Undefined: the deadline passed without an answer. */
export async function pollUntil<Answer>(
  { deadlineAt }: Pick<WorkflowInput, "deadlineAt">,
  check: () => Promise<Answer | undefined>,
): Promise<Answer | undefined> {
  let hinted = false;
  setHandler(recheck, () => {
    hinted = true;
  });
  for (;;) {
    // Cleared before reading: a signal that arrives meanwhile causes one more read, never one too few.
    hinted = false;
    const answer = await check();
    if (answer !== undefined) return answer;
    const left = new Date(deadlineAt).getTime() - Date.now();
    if (left <= 0) return undefined;
    await condition(() => hinted, Math.min(left, MAX_RECHECK_MS));
  }
}

/**
 * Waits until every node of the phase is as desired, one has failed, the operation's deadline has passed, or there is
 * another reason why the phase can never complete.
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

/** For a wait that must be shorter than the operation's. */
export const within = (input: WorkflowInput, milliseconds: number): WorkflowInput => ({
  ...input,
  deadlineAt: new Date(Date.now() + milliseconds).toISOString(),
});
