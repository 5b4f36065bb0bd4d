import { proxyLocalActivities } from "@temporalio/workflow";
import { type Outcome, waitForPhase, pollUntil } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities } from "../changes/activities.ts";
import { texts } from "../texts.ts";
import { SHIP_MS, within } from "./within.ts";

const { shipOwn, setRestoredTimeline, recloneMembers, checkRecloned, setPreviousTimeline, endChange } =
  proxyLocalActivities<ChangeActivities>({ startToCloseTimeout: "5 seconds" });

/** The wait for the way back. After the deadline it must end before the sweeper ends the operation. */
const BACK_MS = { failed: 300_000, late: 45_000 };

/** restoring → active on the new timeline, else the previous status on the previous one. */
export async function restoreDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  // The writes since the last upload are worth a wait, but a failure must not stop the restore.
  if ((await shipOwn(operationId)) === "requested") await waitForPhase(within(input, SHIP_MS), "ship");
  if ((await setRestoredTimeline(operationId)) === "not requested") return;
  const made = await waitForPhase(input, "restored");
  const outcome = made.state === "observed" ? await recloneOthers(input) : made;
  if (outcome.state === "observed") return endChange(operationId, { done: true });
  if ((await setPreviousTimeline(operationId)) === "requested")
    await waitForPhase(within(input, BACK_MS[outcome.state]), "previous timeline");
  return endChange(operationId, {
    done: false,
    ...(outcome.state === "failed" ? { message: texts.hostReported(outcome) } : {}),
  });
}

/** In a cluster: the others clone what one member has restored. */
async function recloneOthers(input: WorkflowInput): Promise<Outcome> {
  if ((await recloneMembers(input.operationId)) === "not requested") return { state: "observed" };
  const outcome = await pollUntil(input, async (): Promise<Outcome | undefined> => {
    const progress = await checkRecloned(input.operationId);
    return progress.state === "pending" ? undefined : progress;
  });
  return outcome ?? { state: "late" };
}
