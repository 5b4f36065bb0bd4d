import type { Text } from "@moorage/contract/texts";
import { proxyLocalActivities } from "@temporalio/workflow";
import { pollUntil } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities } from "../activities.ts";
import type { Settlement } from "../changes/change.ts";
import type { BootstrapProgress } from "../clusters/health/bootstrap-activities.ts";
import { texts } from "./texts.ts";

const { advanceBootstrap, retryBootstrap, endChange } = proxyLocalActivities<ChangeActivities>({
  startToCloseTimeout: "5 seconds",
});

/**
 * Bootstraps the group of a cluster whose members are in none, for any operation: nobody has permission until all have
 * reported their GTID sets, then the most advanced member bootstraps and the others join it.
 */
export async function bootstrapMembers(
  input: WorkflowInput,
): Promise<Exclude<BootstrapProgress, { next: "wait" }> | { next: "late" }> {
  const progress = await pollUntil(input, async () => {
    const step = await advanceBootstrap(input.operationId);
    return step.next === "wait" ? undefined : step;
  });
  return progress ?? { next: "late" };
}

/** Why the first bootstrap of a group cannot succeed. */
export async function whyNotBootstrapped({ operationId }: WorkflowInput): Promise<Text | undefined> {
  const progress = await retryBootstrap(operationId);
  return progress.next === "failed" ? settlementOf(progress).message : undefined;
}

/** The database stays degraded; after the end the health check sets its status. */
export async function bootstrapGroup(input: WorkflowInput): Promise<void> {
  const progress = await bootstrapMembers(input);
  return endChange(input.operationId, settlementOf(progress));
}

export function settlementOf(progress: Awaited<ReturnType<typeof bootstrapMembers>>): Settlement {
  if (progress.next === "bootstrapped") return { done: true };
  if (progress.next === "too few") return { done: true, degraded: true, message: texts.resumedWithoutMajority() };
  const why = progress.next === "failed" ? progress.why : texts.nodesLate().text;
  return { done: false, message: texts.bootstrapFailed({ why }) };
}
