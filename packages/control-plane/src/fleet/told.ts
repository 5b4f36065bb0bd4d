import type { NodeReport, NodeSpec, Statement } from "@moorage/contract/agent";
import type { Sealer } from "#platform/seal.ts";
import { sha256 } from "#platform/sha256.ts";

/**
 * What the control plane told a host, in a form that the host can show but nobody else can make. A host is believed only
 * about itself: that the database was set back, that it has a node, that an operation removed one.
 */
export type Signing = Pick<Sealer, "sign" | "isSigned">;
type Told = Pick<NodeSpec, "node" | "epoch" | "generation">;

/** The hexadecimal digits of a SHA-256, with which a seal begins. */
const DIGEST_HEX = 64;

export const signStatement = (
  sealer: Signing,
  host: number,
  { epoch, revision, position }: Omit<Statement, "seal">,
): Statement => ({
  epoch,
  revision,
  position,
  seal: sealer.sign(["told", host], statementText({ epoch, revision, position })),
});

export const isOurStatement = (sealer: Signing, host: number, told: Statement): boolean =>
  sealer.isSigned(["told", host], statementText(told), told.seal);

const statementText = ({ epoch, revision, position: { server, timeline, lsn } }: Omit<Statement, "seal">): string =>
  JSON.stringify([epoch, revision, server, timeline, lsn]);

/** The spec as it goes to this host. */
export function sealSpec(sealer: Signing, host: number, spec: NodeSpec): NodeSpec {
  const digest = digestOf(spec);
  return { ...spec, seal: `${digest}.${sealer.sign(["spec", host], specText(spec, digest))}` };
}

/** Whether this generation of the node was sent to this host. */
export const wasSent = (sealer: Signing, host: number, report: Told & { seal?: string | undefined }): boolean =>
  report.seal !== undefined &&
  sealer.isSigned(
    ["spec", host],
    specText(report, report.seal.slice(0, DIGEST_HEX)),
    report.seal.slice(DIGEST_HEX + 1),
  );

/** The key of a seal that `wasSent` has accepted. */
export const keyOfSeal = (seal: string): string => seal.slice(DIGEST_HEX + 1, seal.lastIndexOf("."));

/** Whether this spec, as it is, was sent to this host. */
export const isOurSpec = (sealer: Signing, host: number, { seal, ...spec }: NodeSpec): boolean =>
  seal?.startsWith(digestOf(spec)) === true && wasSent(sealer, host, { ...spec, seal });

/**
 * The reports of a digest, each with its spec only if we made it for this host: a host can give back what it was given,
 * and nothing else. The names of nodes whose spec was refused are for the operator.
 */
export function provenDigest(sealer: Signing, host: number, digest: readonly NodeReport[]) {
  const refused: string[] = [];
  const reports = digest.map(({ spec, ...report }): NodeReport => {
    if (spec === undefined) return report;
    if (spec.node === report.node && isOurSpec(sealer, host, spec)) {
      const { seal: _seal, ...ours } = spec;
      return { ...report, spec: ours };
    }
    refused.push(report.node);
    return report;
  });
  return { reports, refused };
}

const specText = ({ node, epoch, generation }: Told, digest: string): string =>
  JSON.stringify([node, epoch, generation, digest]);

const digestOf = ({ seal: _seal, ...spec }: NodeSpec): string => sha256(canonical(spec)).toString("hex");

/** The same text whatever the order of the keys: it passes through jsonb, and through the host's disk. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
