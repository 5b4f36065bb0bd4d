import { ActivityFailure, isCancellation, proxyActivities } from "@temporalio/workflow";
import { type Outcome, waitForPhase, within } from "#fleet/workflows/wait-for-phase.ts";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { DnsActivities } from "../jobs/dns-activities.ts";

/** Even after the deadline one attempt is worth it: the DNS server is nearly always reachable. */
const LEAST_MS = 10_000;
/** Hosts archive every minute, so little is left to ship. */
const SHIP_MS = 120_000;

/** Calls the DNS server until it succeeds or the operation's deadline has passed. False: it was not reached by then. */
export async function dnsStep({ operationId, deadlineAt }: WorkflowInput, step: keyof DnsActivities): Promise<boolean> {
  const left = new Date(deadlineAt).getTime() - Date.now();
  const activities = proxyActivities<DnsActivities>({
    startToCloseTimeout: "10 seconds",
    scheduleToCloseTimeout: Math.max(left, LEAST_MS),
    retry: { initialInterval: "1 second", maximumInterval: "10 seconds" },
  });
  try {
    await activities[step](operationId);
    return true;
  } catch (error) {
    if (error instanceof ActivityFailure && !isCancellation(error)) return false;
    throw error;
  }
}

/** Waits until what was committed before is archived, for a part of the operation's time at most. */
export const waitForShip = (input: WorkflowInput): Promise<Outcome> => waitForPhase(within(input, SHIP_MS), "ship");
