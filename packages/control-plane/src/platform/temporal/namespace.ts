import { type Client, NamespaceNotFoundError } from "@temporalio/client";

const DAY_SECONDS = 86_400;

/** Creates the namespace if it does not exist: after an install, and after the loss of Temporal's database. */
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

/**
 * For an error of a call to Temporal: a missing namespace means that its store was lost while this process ran. Once it
 * exists again, workflows are found missing one by one and restarted from their rows.
 */
export async function repairNamespace(client: Client, error: unknown): Promise<void> {
  if (error instanceof NamespaceNotFoundError) await ensureNamespace(client, client.options.namespace);
}
