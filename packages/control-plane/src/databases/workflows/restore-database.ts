import { patched, proxyLocalActivities } from "@temporalio/workflow";
import { type Outcome, untilObserved, untilTold } from "#fleet/workflows/until-observed.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { RestoreActivities } from "../timelines/restore-activities.ts";
import type { ShipActivities } from "../timelines/ship-activities.ts";
import { SHIP_MS, within } from "./within.ts";

const { shipOwn, wantRestored, wantRenewed, checkRenewed, wantPrevious, settleRestore } = proxyLocalActivities<
  ShipActivities & RestoreActivities
>({ startToCloseTimeout: "5 seconds" });

/** How long the way back is waited for. After the deadline it must end before the sweeper ends the operation. */
const BACK_MS = { failed: 300_000, late: 45_000 };

/** restoring → active on the new timeline, else as it was on the one before it. */
export async function restoreDatabase(input: WorkflowInput): Promise<void> {
  const { operationId } = input;
  // What was written since the last shipping is worth a wait, and not the restore.
  if ((await shipOwn(operationId)) === "wanted") await untilObserved(within(input, SHIP_MS), "ship");
  if ((await wantRestored(operationId)) === "not wanted") return;
  const made = await untilObserved(input, "restored");
  const outcome = made.state === "observed" && patched("members") ? await renewOthers(input) : made;
  if (outcome.state === "observed") return settleRestore(operationId, { done: true });
  if ((await wantPrevious(operationId)) === "wanted")
    await untilObserved(within(input, BACK_MS[outcome.state]), "previous timeline");
  return settleRestore(operationId, {
    done: false,
    ...(outcome.state === "failed" ? { message: outcome.message } : {}),
  });
}

/** Of a cluster: what one member has made, the others take from it. */
async function renewOthers(input: WorkflowInput): Promise<Outcome> {
  if ((await wantRenewed(input.operationId)) === "not wanted") return { state: "observed" };
  if (!patched("one may go")) return untilObserved(input, "renewed");
  const outcome = await untilTold(input, async (): Promise<Outcome | undefined> => {
    const progress = await checkRenewed(input.operationId);
    return progress.state === "pending" ? undefined : progress;
  });
  return outcome ?? { state: "late" };
}
