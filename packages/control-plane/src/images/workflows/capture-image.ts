import { condition, defineSignal, proxyActivities, proxyLocalActivities, setHandler } from "@temporalio/workflow";
import { RECHECK_SIGNAL, type WorkflowInput } from "#operations/workflow-id.ts";
import type { CaptureActivities, CaptureEnd } from "../capture/activities.ts";

const { checkCapture } = proxyLocalActivities<CaptureActivities>({ startToCloseTimeout: "5 seconds" });
const recheck = defineSignal(RECHECK_SIGNAL);

/** A signal is only a hint: a lost one delays the workflow by at most this time. */
const MAX_RECHECK_MS = 30_000;
/** The minimum time for the store to answer, even at the deadline; the sweeper waits longer. */
const LEAST_MS = 20_000;

/** creating → available when the disk's host has written all of it to the store, else removed, with the reason. */
export async function captureImage(input: WorkflowInput): Promise<void> {
  let hinted = false;
  setHandler(recheck, () => {
    hinted = true;
  });
  for (;;) {
    // Cleared before reading: a signal that arrives meanwhile causes one more read, never one too few.
    hinted = false;
    const left = timeLeft(input);
    const hasEnded = (await checkCapture(input.operationId)) === "ended";
    if (hasEnded && (await settle(input, "ended")) === "settled") return;
    if (left <= 0) return void (await settle(input, "late"));
    if (!hasEnded) await condition(() => hinted, Math.min(left, MAX_RECHECK_MS));
  }
}

const timeLeft = ({ deadlineAt }: WorkflowInput): number => new Date(deadlineAt).getTime() - Date.now();

async function settle(input: WorkflowInput, end: CaptureEnd): Promise<"settled" | "working"> {
  const { settleCapture } = proxyActivities<CaptureActivities>({
    // Three slow responses of the store; a dead worker is noticed after this time.
    startToCloseTimeout: "1 minute",
    scheduleToCloseTimeout: Math.max(LEAST_MS, timeLeft(input)),
    retry: { initialInterval: "1 second", maximumInterval: "10 seconds" },
  });
  try {
    return await settleCapture(input.operationId, end);
  } catch {
    const { settleCapture: giveUp } = proxyActivities<CaptureActivities>({ startToCloseTimeout: "10 seconds" });
    return giveUp(input.operationId, "store away");
  }
}
