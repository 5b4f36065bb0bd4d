import { condition, defineSignal, proxyActivities, proxyLocalActivities, setHandler } from "@temporalio/workflow";
import { RECHECK_SIGNAL, type WorkflowInput } from "#operations/workflow-id.ts";
import type { CaptureActivities, CaptureEnd } from "../capture/activities.ts";

const { checkCapture } = proxyLocalActivities<CaptureActivities>({ startToCloseTimeout: "5 seconds" });
const recheck = defineSignal(RECHECK_SIGNAL);

/** A signal is only a hint: this is how long a lost one can delay us. */
const MAX_RECHECK_MS = 30_000;
/** What the store gets at least to answer in, also at the deadline; the sweeper waits longer. */
const LEAST_MS = 20_000;

/** creating → available when the disk's host has brought all of it to the store, else removed, with the reason. */
export async function captureImage(input: WorkflowInput): Promise<void> {
  let hinted = false;
  setHandler(recheck, () => {
    hinted = true;
  });
  for (;;) {
    // Cleared before reading: a hint that comes meanwhile makes us read once more, never once too few.
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
    // Three slow answers of the store; a worker that died in it is noticed after so long.
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
