import { patched, proxyLocalActivities } from "@temporalio/workflow";
import type { Progress } from "#fleet/index.ts";
import { type Outcome, pollUntil, waitForPhase, within } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities } from "../activities.ts";
import { texts } from "../model/texts.ts";
import { texts as timelineTexts } from "../timelines/texts.ts";
import { dnsStep, waitForShip } from "./shared-steps.ts";

const { shipOwn, setRestoredTimeline, checkRestored, recloneMembers, checkRecloned, setPreviousTimeline, endChange } =
  proxyLocalActivities<ChangeActivities>({ startToCloseTimeout: "5 seconds" });

/** The wait for the way back. After the deadline it must end before the sweeper ends the operation. */
const BACK_MS = { failed: 300_000, late: 45_000 };

/** restoring → active on the new timeline, else the previous status on the previous one. */
export async function restoreDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  // The writes since the last upload are worth a wait, but a failure must not stop the restore.
  if ((await shipOwn(operationId)) === "requested") await waitForShip(input);
  const placed = await setRestoredTimeline(operationId);
  if (placed === "not requested") return;
  if (placed === "no room") return endChange(operationId, { done: false, message: timelineTexts.noRoomElsewhere() });
  const made = patched("restores move") ? await untilDone(input, checkRestored) : await waitForPhase(input, "restored");
  if (placed === "requested elsewhere") return endElsewhere(input, made);
  const outcome = made.state === "observed" ? await recloneOthers(input) : made;
  if (outcome.state === "observed") return endChange(operationId, { done: true });
  if ((await setPreviousTimeline(operationId)) === "requested")
    await waitForPhase(within(input, BACK_MS[outcome.state]), "previous timeline");
  return endChange(operationId, {
    done: false,
    ...(outcome.state === "failed" ? { message: texts.hostReported(outcome) } : {}),
  });
}

/** Without DNS records of the new host the data are restored all the same: a job publishes the records later. */
async function endElsewhere(input: WorkflowInput, outcome: Outcome): Promise<void> {
  const { operationId } = input;
  if (outcome.state === "observed")
    return endChange(operationId, { done: true, dnsPublished: await dnsStep(input, "publishDnsRecords") });
  return endChange(operationId, {
    done: false,
    ...(outcome.state === "failed" ? { message: texts.hostReported(outcome) } : {}),
  });
}

/** In a cluster: the others clone what one member has restored. */
async function recloneOthers(input: WorkflowInput): Promise<Outcome> {
  if ((await recloneMembers(input.operationId)) === "not requested") return { state: "observed" };
  return untilDone(input, checkRecloned);
}

async function untilDone(input: WorkflowInput, check: (operationId: number) => Promise<Progress>): Promise<Outcome> {
  const outcome = await pollUntil(input, async (): Promise<Outcome | undefined> => {
    const progress = await check(input.operationId);
    return progress.state === "pending" ? undefined : progress;
  });
  return outcome ?? { state: "late" };
}
