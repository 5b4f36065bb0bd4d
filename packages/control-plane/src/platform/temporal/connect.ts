import { Client, Connection } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker";

export async function connectClient(address: string, namespace: string): Promise<Client> {
  // Lazy: a process starts, and stays up, while Temporal is down.
  return new Client({ connection: Connection.lazy({ address }), namespace });
}

/** Waits until Temporal is up: a worker can do nothing without it. */
export async function connectWorker(address: string, shouldRetry: () => boolean): Promise<NativeConnection> {
  for (;;) {
    try {
      return await NativeConnection.connect({ address });
    } catch (error) {
      if (!shouldRetry()) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}
