import { proxyLocalActivities } from "@temporalio/workflow";
import { pollUntil, within } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { ChangeActivities } from "../activities.ts";
import { texts } from "./texts.ts";

const { requestPrimary, checkPrimary, endPrimaryRequest, endChange } = proxyLocalActivities<ChangeActivities>({
  startToCloseTimeout: "5 seconds",
});

/**
 * Requests another primary, for any operation of a database; `phase` starts with "switch " and names this attempt.
 * False: the group did not follow by the deadline, or the request was refused because a member is unhealthy or the
 * backlog is too long.
 */
export async function switchPrimary(input: WorkflowInput, phase: string): Promise<boolean> {
  return (await tryToSwitch(input, phase)) === undefined;
}

/** Why the primary did not change; undefined: it did. */
async function tryToSwitch(input: WorkflowInput, phase: string): Promise<string | undefined> {
  const { operationId } = input;
  const request = await requestPrimary(operationId, phase);
  if (request.state === "refused") return request.why;
  const isPrimary = await pollUntil(endOf(input, request.withinMs), async () =>
    (await checkPrimary(operationId, phase)) ? true : undefined,
  );
  await endPrimaryRequest(operationId, phase);
  return isPrimary === true ? undefined : texts.primaryNotAgreed().text;
}

const endOf = (input: WorkflowInput, ms: number | undefined): WorkflowInput =>
  ms === undefined || new Date(input.deadlineAt).getTime() < Date.now() + ms ? input : within(input, ms);

/** updating → active, with another primary, else with the previous one. */
export async function switchOver(input: WorkflowInput): Promise<void> {
  const why = await tryToSwitch(input, "switch 1");
  if (why === undefined) return endChange(input.operationId, { done: true });
  return endChange(input.operationId, { done: false, message: texts.switchoverFailed({ why }) });
}
