import { proxyLocalActivities } from "@temporalio/workflow";
import type { WorkflowInput } from "#operations/workflow-id.ts";
import type { TransferActivities } from "../activities.ts";

const { moveOwnership } = proxyLocalActivities<TransferActivities>({ startToCloseTimeout: "10 seconds" });

/**
 * accepted → completed, or failed with the reason. After the deadline the sweeper has ended it, and this does nothing.
 */
export async function moveEntities({ operationId }: WorkflowInput): Promise<void> {
  await moveOwnership(operationId);
}
