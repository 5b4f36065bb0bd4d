import { proxyLocalActivities } from "@temporalio/workflow";
import { untilTold } from "#fleet/workflows/until-observed.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { Formed, FormActivities } from "../clusters/health/form-activities.ts";
import type { Settlement } from "../settle.ts";

const { formOn, formAgain, settleForming } = proxyLocalActivities<FormActivities>({ startToCloseTimeout: "5 seconds" });

/**
 * Forms the group of a cluster whose members are in none, for any operation of it: nobody may begin until all have said
 * what they have, then the most advanced does, and the others join it.
 */
export async function formMembers(input: WorkflowInput): Promise<Exclude<Formed, { next: "wait" }> | { next: "late" }> {
  const formed = await untilTold(input, async () => {
    const step = await formOn(input.operationId);
    return step.next === "wait" ? undefined : step;
  });
  return formed ?? { next: "late" };
}

/** Why a group that is begun for the first time never will be. */
export async function whyNotFormed({ operationId }: WorkflowInput): Promise<string | undefined> {
  const formed = await formAgain(operationId);
  return formed.next === "failed" ? settlementOf(formed).message : undefined;
}

/** degraded; when it has ended, the cluster's health says what the database is. */
export async function formGroup(input: WorkflowInput): Promise<void> {
  const formed = await formMembers(input);
  return settleForming(input.operationId, settlementOf(formed));
}

export function settlementOf(formed: Awaited<ReturnType<typeof formMembers>>): Settlement {
  if (formed.next === "formed") return { done: true };
  const why = formed.next === "failed" ? formed.why : "not all of them came together in time.";
  return { done: false, message: `Its nodes could not be brought together: ${why}` };
}
