import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { chown, mkdir } from "node:fs/promises";
import type { NodeSpec } from "@moorage/contract/agent";
import { isRenewalDue, newPrivateKey, requestFor } from "../base/certificates.ts";
import { readIfThere, writeDurably } from "../base/durable-file.ts";
import type { NodePaths } from "../base/host-paths.ts";
import { reloadTls } from "../mysql/node-sql.ts";
import type { NodeContext } from "./node-context.ts";
import { readNodeRecord, updateNodeRecord } from "../specs/node-state.ts";
import type { StepTable } from "../base/run-steps.ts";

export type CertificateDeps = {
  /** Requested from the gateway; fails while it is unreachable. */
  certificateFor: (node: string, csr: string) => Promise<{ certificate: string; ca: string }>;
};

/** State of the certificate that the node presents to clients. */
export type CertificateState =
  | "absent"
  | "outdated" // for other names, or of an earlier version
  | "unused" // on the disk, but not loaded by the server
  | "ending" // in use, and due for renewal
  | "right";

export async function certificateState({ paths, spec, clock }: NodeContext): Promise<CertificateState> {
  if (spec.tls === undefined) return "right";
  const found = await readCertificate(paths);
  if (found === undefined) return "absent";
  const { certificate: record } = await readNodeRecord(paths);
  if (record === undefined || record.version < spec.tls.version || !isFor(found.certificate, spec)) return "outdated";
  if (record.used !== found.fingerprint) return "unused";
  return isRenewalDue(found.certificate, clock()) ? "ending" : "right";
}

/** Creates a new key each time; it never leaves the host. */
export async function makeCertificate({ paths, spec, certificateFor }: NodeContext & CertificateDeps): Promise<void> {
  if (spec.tls === undefined) return;
  const key = await newPrivateKey();
  const { certificate, ca } = await certificateFor(spec.node, await requestFor(key));
  const signed = new X509Certificate(certificate);
  // A certificate that the server cannot load or that clients refuse must not replace a working one.
  if (!signed.checkPrivateKey(createPrivateKey(key)) || !isFor(signed, spec))
    throw new Error("The gateway answered with a certificate that is not for this node's key and names.");
  await mkdir(paths.tls, { recursive: true, mode: 0o700 });
  await chown(paths.tls, spec.uid, spec.uid);
  await writeDurably(paths.authorities, ca, 0o600, spec.uid);
  // One file for both: a server that starts at any moment finds a key and its matching certificate.
  await writeDurably(paths.certificate, `${key.trimEnd()}\n${certificate}`, 0o600, spec.uid);
  await updateNodeRecord(paths, { certificate: { version: spec.tls.version } });
}

/** For a server that answers. Existing sessions keep the old certificate; nothing is restarted. */
export async function useCertificate(context: NodeContext & CertificateDeps): Promise<void> {
  const { paths, spec } = context;
  if ((await certificateState(context)) === "outdated") await makeCertificate(context);
  const found = spec.tls && (await readCertificate(paths));
  if (spec.tls === undefined || found === undefined) return;
  await reloadTls(paths.socket);
  await updateNodeRecord(paths, { certificate: { version: spec.tls.version, used: found.fingerprint } });
}

async function readCertificate(paths: NodePaths) {
  const text = await readIfThere(paths.certificate);
  if (text === undefined) return undefined;
  try {
    const fingerprint = createHash("sha256").update(text).digest("hex");
    return { certificate: new X509Certificate(text), fingerprint };
  } catch {
    return undefined; // replaced, like a missing one
  }
}

/** The database's names, and for a member the address at which the other members reach it. */
function isFor({ subjectAltName }: X509Certificate, { node, tls, cluster }: NodeSpec): boolean {
  const address = cluster?.members.find((member) => member.node === node)?.address;
  const due = [
    ...(tls?.names ?? []).map((name) => `DNS:${name}`),
    ...(address === undefined ? [] : [`IP Address:${address}`]),
  ];
  return (subjectAltName ?? "").split(", ").sort().join() === due.sort().join();
}

/** The authority of the node's cluster, as a server names it in REQUIRE ISSUER. */
export async function issuerOfMembers(paths: NodePaths): Promise<string> {
  const found = await readCertificate(paths);
  if (found === undefined) throw new Error("The node has no certificate yet.");
  return `/${found.certificate.issuer.split("\n").join("/")}`;
}

/** For a node that serves: nothing is stopped, and it stays `running` whether this succeeds or not. */
export const renewSteps: StepTable<NodeContext & CertificateDeps> = {
  name: "renew",
  steps: [
    { name: "certificate", percent: 50, run: makeCertificate },
    { name: "tls", percent: 100, run: useCertificate },
  ],
};
