import { proxyLocalActivities, sleep } from "@temporalio/workflow";
import { pollUntil } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities } from "../activities.ts";
import { bootstrapMembers } from "./bootstrap-group.ts";
import { switchPrimary } from "./switch-primary.ts";

const { advanceRoll, endChange } = proxyLocalActivities<ChangeActivities>({ startToCloseTimeout: "5 seconds" });

/** The rows decide when it is over: the way back has more time. */
const NO_DEADLINE = { deadlineAt: "9999-12-31T00:00:00Z" };
/** The limit of a switchover or bootstrap, and the pause after a refused one: a backlog shrinks by itself. */
const SWITCH_MS = 60_000;
const TRY_AGAIN_MS = 5000;

/** A change of three nodes, one at a time. Each step is decided from the rows, never from the workflow's memory. */
export async function rollChange({ operationId }: WorkflowInput): Promise<void> {
  for (;;) {
    const rolled = await pollUntil(NO_DEADLINE, async () => {
      const step = await advanceRoll(operationId);
      return step.next === "wait" ? undefined : step;
    });
    if (rolled?.next === "settle") return endChange(operationId, rolled.settlement);
    if (rolled?.next !== "switch" && rolled?.next !== "bootstrap") return;
    const until = Math.min(new Date(rolled.until).getTime(), Date.now() + SWITCH_MS);
    const input = { operationId, deadlineAt: new Date(until).toISOString() };
    const isDone =
      rolled.next === "switch"
        ? await switchPrimary(input, rolled.phase)
        : (await bootstrapMembers(input)).next === "bootstrapped";
    if (!isDone) await sleep(TRY_AGAIN_MS);
  }
}
