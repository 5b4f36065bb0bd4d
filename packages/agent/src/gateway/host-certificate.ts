import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { X509Certificate } from "node:crypto";
import { HOST_CERTIFICATE_DAYS, PROTOCOL } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { newPrivateKey, requestFor } from "../base/certificates.ts";
import { readIfThere, writeDurably } from "../base/durable-file.ts";
import { connectGateway, type Identity } from "./gateway.ts";
import type { HostPaths } from "../base/host-paths.ts";
import type { HostRecordFile } from "../specs/host-record.ts";
import { networkDelayMs } from "../base/try-again.ts";
import type { GatewayPort } from "./gateway-port.ts";

export type EnrolDeps = {
  config: { fleetUrl: string; fleetCa: string; enrolTokenFile: string | undefined };
  paths: HostPaths;
  record: HostRecordFile;
  log: Logger;
  signal: AbortSignal;
};

/** Reads the host's certificate from disk, or requests it with the one-time token. The key never leaves the host. */
export async function enrol(deps: EnrolDeps): Promise<Identity> {
  const { paths, signal, log } = deps;
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      const cert = await readIfThere(paths.certificate);
      const key = await readIfThere(paths.key);
      return cert !== undefined && key !== undefined ? { cert, key } : await requestCertificate(deps);
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn({ error: String(error) }, "enrolment failed and is retried");
      await sleep(networkDelayMs(attempt), undefined, { signal });
    }
  }
}

async function requestCertificate({ config, paths, record, log, signal }: EnrolDeps): Promise<Identity> {
  if (config.enrolTokenFile === undefined) throw new Error("There is no certificate and no MOORAGE_ENROL_TOKEN_FILE.");
  const token = (await readFile(config.enrolTokenFile, "utf8")).trim();
  // The same key on every attempt: if the gateway signed and its answer was lost, it may answer the same again.
  const key = (await readIfThere(paths.key)) ?? (await makeKey(paths.key));
  const gateway = connectGateway(config.fleetUrl, await readFile(config.fleetCa, "utf8"));
  try {
    const reply = await gateway.enrol({ protocol: PROTOCOL, token, csr: await requestFor(key) }, signal);
    await record.update((before) => ({ ...before, host: reply.host }));
    // Last: a host with a certificate counts as enrolled.
    await writeDurably(paths.certificate, reply.certificate);
    log.info({ host: reply.host }, "enrolled");
    return { key, cert: reply.certificate };
  } finally {
    await gateway.close();
  }
}

async function makeKey(path: string): Promise<string> {
  const pem = await newPrivateKey();
  await writeDurably(path, pem, 0o600);
  return pem;
}

const checkEveryMs = 3_600_000;
const dayMs = 86_400_000;

export type RenewDeps = {
  identity: Identity;
  gateway: Pick<GatewayPort, "renew">;
  /** Connects with this identity from now on. */
  use: (identity: Identity) => Promise<void>;
  paths: HostPaths;
  clock: () => Date;
  log: Logger;
};

/** The gateway accepts it for a third of its time, or less. */
export function isRenewalDue(
  { validFromDate, validToDate }: Pick<X509Certificate, "validFromDate" | "validToDate">,
  now: Date,
): boolean {
  const from = validFromDate.getTime();
  const until = Math.min(from + HOST_CERTIFICATE_DAYS * dayMs, validToDate.getTime());
  return until - now.getTime() < (until - from) / 3;
}

/** Renews a certificate that has less than a third of its time left or lacks a key usage. Retries failures at the next check. */
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
  const { certificate } = await gateway.renew({ protocol: PROTOCOL, csr: await requestFor(key) }, signal);
  await writeDurably(paths.certificate, certificate);
  const renewed = { key, cert: certificate };
  await use(renewed);
  log.info("certificate renewed");
  return renewed;
}
