import type { SettingsOf } from "@moorage/contract/settings";
import { Client, Connection, NamespaceNotFoundError } from "@temporalio/client";
import { NativeConnection } from "@temporalio/worker";
import { readTls, type TlsFiles, tlsFilesOf } from "#platform/peers.ts";
import type { temporalSettings } from "#platform/settings.ts";

const DAY_SECONDS = 86_400;

/** gRPC's status code. */
const ALREADY_EXISTS = 6;

/** Where Temporal is, and with `tls` how both ends are authenticated. */
export type TemporalServer = { address: string; namespace: string; tls?: TlsFiles | undefined };

export const temporalServerOf = (config: SettingsOf<typeof temporalSettings>): TemporalServer => ({
  address: config.TEMPORAL_ADDRESS,
  namespace: config.TEMPORAL_NAMESPACE,
  tls: tlsFilesOf(config, "TEMPORAL_TLS"),
});

export async function connectClient({ address, namespace, tls }: TemporalServer): Promise<Client> {
  // Lazy: a process starts, and stays up, while Temporal is down.
  return new Client({ connection: Connection.lazy({ address, ...tlsOptions(tls) }), namespace });
}

const tlsOptions = (files: TlsFiles | undefined) => {
  if (files === undefined) return {};
  const { ca, cert: crt, key } = readTls(files);
  return { tls: { serverRootCACertificate: ca, clientCertPair: { crt, key } } };
};

/** Waits until Temporal is up: a worker can do nothing without it. */
export async function connectWorker(
  { address, tls }: TemporalServer,
  shouldRetry: () => boolean,
): Promise<NativeConnection> {
  for (;;) {
    try {
      return await NativeConnection.connect({ address, ...tlsOptions(tls) });
    } catch (error) {
      if (!shouldRetry()) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

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

/**
 * For an error of a call to Temporal: a missing namespace means that its store was lost while this process ran. Once it
 * exists again, workflows are found missing one by one and restarted from their rows.
 */
export async function repairNamespace(client: Client, error: unknown): Promise<void> {
  if (error instanceof NamespaceNotFoundError) await ensureNamespace(client, client.options.namespace);
}
