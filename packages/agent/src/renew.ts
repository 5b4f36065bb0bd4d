import { X509Certificate } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { PROTOCOL } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { requestFor } from "./certificate-request.ts";
import { writeDurably } from "./durable-file.ts";
import type { Gateway, Identity } from "./gateway.ts";
import type { HostPaths } from "./host-paths.ts";

const dayMs = 86_400_000;
/** A certificate lasts 90 days: the gateway may be unreachable for a month before a host or a node loses its trust. */
const renewDays = 30;
const checkEveryMs = 6 * 3_600_000;

export type RenewDeps = {
  identity: Identity;
  gateway: () => Gateway;
  /** Connects with this identity from now on. */
  use: (identity: Identity) => Promise<void>;
  paths: HostPaths;
  clock: () => Date;
  log: Logger;
};

/** Renews a certificate that has less than a month left or lacks a key usage. Retries failures at the next check. */
export async function keepRenewing(deps: RenewDeps, signal: AbortSignal): Promise<void> {
  let { identity } = deps;
  while (!signal.aborted) {
    const certificate = new X509Certificate(identity.cert);
    if (isRenewalDue(certificate, deps.clock()) || isOnlyForCalls(certificate))
      identity = await renew(deps, identity, signal).catch((error: unknown) => {
        deps.log.warn({ error: String(error) }, "the certificate could not be renewed");
        return identity;
      });
    await sleep(checkEveryMs, undefined, { signal }).catch(() => {});
  }
}

export const isRenewalDue = (certificate: X509Certificate, now: Date): boolean =>
  certificate.validToDate.getTime() - now.getTime() < renewDays * dayMs;

/** Hosts of a cluster serve each other. An older certificate has client usage only. */
const isOnlyForCalls = ({ keyUsage }: X509Certificate): boolean =>
  keyUsage !== undefined && !keyUsage.includes(serverAuth);
const serverAuth = "1.3.6.1.5.5.7.3.1";

/** Written to disk before it is used: the gateway invalidates the old one at the first use of the new one. */
async function renew(
  { gateway, use, paths, log }: RenewDeps,
  { key }: Identity,
  signal: AbortSignal,
): Promise<Identity> {
  const { certificate } = await gateway().renew({ protocol: PROTOCOL, csr: await requestFor(key) }, signal);
  await writeDurably(paths.certificate, certificate);
  const renewed = { key, cert: certificate };
  await use(renewed);
  log.info("certificate renewed");
  return renewed;
}
