import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { PROTOCOL } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { newPrivateKey, requestFor } from "./certificate-request.ts";
import type { Config } from "./config.ts";
import { readIfThere, writeDurably } from "./durable-file.ts";
import { connectGateway, type Identity } from "./gateway.ts";
import type { HostPaths } from "./host-paths.ts";
import type { HostRecordFile } from "./host-record.ts";
import { networkDelayMs } from "./retry-delay.ts";

export type EnrolDeps = { config: Config; paths: HostPaths; record: HostRecordFile; log: Logger; signal: AbortSignal };

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
