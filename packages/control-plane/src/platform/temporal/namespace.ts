import type { Client } from "@temporalio/client";

const DAY_SECONDS = 86_400;

/** Makes the namespace if it is not there: after an install, and after Temporal's database was lost. */
export async function ensureNamespace(client: Client, namespace: string): Promise<void> {
  try {
    await client.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: (7 * DAY_SECONDS) as never },
    });
  } catch (error) {
    if ((error as { code?: number }).code !== ALREADY_EXISTS) throw error;
  }
}

/** gRPC's status code. */
const ALREADY_EXISTS = 6;
