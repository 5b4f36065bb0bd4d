import { createPrivateKey, createPublicKey, webcrypto } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { PROTOCOL } from "@moorage/contract/agent";
import "reflect-metadata"; // must come before x509
import * as x509 from "@peculiar/x509";
import type { Logger } from "pino";
import type { Config } from "./config.ts";
import { readIfThere, writeDurably } from "./durable-file.ts";
import { connectGateway, type Identity } from "./gateway.ts";
import type { HostPaths } from "./host-paths.ts";
import type { HostRecordFile } from "./host-record.ts";
import { networkDelayMs } from "./retry-delay.ts";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

export type EnrolDeps = { config: Config; paths: HostPaths; record: HostRecordFile; log: Logger; signal: AbortSignal };

/** The host's certificate: from its disk, or by the one-time token. The key never leaves the host. */
export async function enrol(deps: EnrolDeps): Promise<Identity> {
  const { paths, signal, log } = deps;
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      const cert = await readIfThere(paths.certificate);
      const key = await readIfThere(paths.key);
      return cert !== undefined && key !== undefined ? { cert, key } : await askForCertificate(deps);
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn({ error: String(error) }, "enrolment failed; trying again");
      await sleep(networkDelayMs(attempt), undefined, { signal });
    }
  }
}

async function askForCertificate({ config, paths, record, log, signal }: EnrolDeps): Promise<Identity> {
  if (config.enrolTokenFile === undefined) throw new Error("There is no certificate and no MOORAGE_ENROL_TOKEN_FILE.");
  const token = (await readFile(config.enrolTokenFile, "utf8")).trim();
  // The same key on every try: a gateway that signed it but was not heard may answer the same again.
  const key = (await readIfThere(paths.key)) ?? (await makeKey(paths.key));
  const gateway = connectGateway(config.fleetUrl, await readFile(config.fleetCa, "utf8"));
  try {
    const reply = await gateway.enrol({ protocol: PROTOCOL, token, csr: await requestFor(key) }, signal);
    await record.update((before) => ({ ...before, host: reply.host }));
    // Last: the certificate's presence says that the host is enrolled.
    await writeDurably(paths.certificate, reply.certificate);
    log.info({ host: reply.host }, "enrolled");
    return { key, cert: reply.certificate };
  } finally {
    await gateway.close();
  }
}

async function makeKey(path: string): Promise<string> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const pem = x509.PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY");
  await writeDurably(path, pem, 0o600);
  return pem;
}

export async function requestFor(pem: string): Promise<string> {
  const secret = createPrivateKey(pem);
  const pkcs8 = new Uint8Array(secret.export({ type: "pkcs8", format: "der" }));
  const spki = new Uint8Array(createPublicKey(secret).export({ type: "spki", format: "der" }));
  const keys = {
    privateKey: await webcrypto.subtle.importKey("pkcs8", pkcs8, algorithm, true, ["sign"]),
    publicKey: await webcrypto.subtle.importKey("spki", spki, algorithm, true, ["verify"]),
  };
  const request = await x509.Pkcs10CertificateRequestGenerator.create(
    { name: "CN=moorage-host", keys, signingAlgorithm: algorithm },
    webcrypto,
  );
  return request.toString("pem");
}
