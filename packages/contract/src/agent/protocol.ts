/**
 * What a host's agent and the fleet gateway say to each other, over mutual TLS; the agent always calls.
 *
 *   POST /v1/enrol     one-time token and CSR in, certificate out (the only call without a client certificate)
 *   POST /v1/renew     CSR in, certificate out, well before the old one ends
 *   POST /v1/wanted    long poll and lease: what this host should run
 *   POST /v1/observed  what it runs
 *   POST /v1/secrets   the secrets of one node of this host, asked for when they are used, never stored there
 *   POST /v1/certificate  CSR of one node of this host in, the certificate that its clients see out
 *
 * Every message carries `protocol`. The gateway serves this version and the one before it.
 */
import { z } from "zod";
import { NodeSpec } from "./node-spec.ts";

export const PROTOCOL = 1;
const Protocol = z.literal(PROTOCOL);

export const EnrolRequest = z.object({ protocol: Protocol, token: z.string(), csr: z.string() });
export type EnrolRequest = z.output<typeof EnrolRequest>;
export const EnrolReply = z.object({ protocol: Protocol, host: z.int(), certificate: z.string() });
export type EnrolReply = z.output<typeof EnrolReply>;

export const RenewRequest = z.object({ protocol: Protocol, csr: z.string() });
export type RenewRequest = z.output<typeof RenewRequest>;
export const RenewReply = z.object({ protocol: Protocol, certificate: z.string() });
export type RenewReply = z.output<typeof RenewReply>;

/**
 * Permission for more deletions than a host does by itself. Signed with the operator's key, which the control plane
 * does not hold: a control plane gone mad, or taken over, cannot empty a host.
 */
export const DeletionAllowance = z.object({
  host: z.int(),
  count: z.int().positive(),
  from: z.string(),
  until: z.string(),
  /** Ed25519 over the JSON text of [host, count, from, until], base64. */
  signature: z.string(),
});
export type DeletionAllowance = z.output<typeof DeletionAllowance>;
export const signedText = ({ host, count, from, until }: Omit<DeletionAllowance, "signature">): string =>
  JSON.stringify([host, count, from, until]);

export const WantedRequest = z.object({
  protocol: Protocol,
  agent: z.string(),
  /** The host revision that the agent has applied to its disk. A gateway that knows less was set back in time. */
  epoch: z.int(),
  revision: z.int(),
  /** Changes with every boot of the host, so that a reboot is seen. */
  boot: z.string(),
  now: z.string(),
  trash_mb: z.int(),
});
export type WantedRequest = z.output<typeof WantedRequest>;

/**
 * The whole wanted state of a host. A node that is missing here is left as it is: absence never deletes.
 * `nodes` is undefined when nothing changed before the poll ended.
 */
export const WantedReply = z.object({
  protocol: Protocol,
  epoch: z.int(),
  revision: z.int(),
  nodes: z.array(z.unknown()).optional(),
  allowance: DeletionAllowance.optional(),
  /** Asks for a report of every node with its spec, for `moorage recover`. */
  digest: z.boolean(),
});
export type WantedReply = z.output<typeof WantedReply>;

export const NodeState = z.enum([
  "working", // on the way; `step` says where
  "running",
  "gone", // stopped, and its volume is in the trash
  "failed", // given up, `message` says why
  "held", // a tombstone that waits for the operator's allowance
  "unsupported", // the spec asks for something this agent does not know
]);
export type NodeState = z.output<typeof NodeState>;

export const NodeReport = z.object({
  node: z.uuid(),
  epoch: z.int(),
  generation: z.int(),
  state: NodeState,
  step: z.string().optional(),
  percent: z.int().min(0).max(100),
  message: z.string().max(1000).optional(),
  used_disk_mb: z.int().optional(),
  /** Only in a digest: the spec as it is on the host's disk. */
  spec: NodeSpec.optional(),
});
export type NodeReport = z.output<typeof NodeReport>;

export const ObservedRequest = z.object({
  protocol: Protocol,
  /** True when `nodes` is every node that the host knows. */
  complete: z.boolean(),
  /** The epoch of the digest that this answers, when it is one. */
  digest: z.int().optional(),
  nodes: z.array(NodeReport),
  /** Containers and volumes on the host that no spec explains. They are left alone, and shown to the operator. */
  unknown: z.array(z.string()),
});
export type ObservedRequest = z.output<typeof ObservedRequest>;
export const ObservedReply = z.object({ protocol: Protocol });

export const SecretsRequest = z.object({ protocol: Protocol, node: z.uuid() });
export type SecretsRequest = z.output<typeof SecretsRequest>;
export const SecretsReply = z.object({ protocol: Protocol, admin_password: z.string() });
export type SecretsReply = z.output<typeof SecretsReply>;

/** The key is the node's and stays on its host. The certificate's names are those of the wanted spec, whatever the CSR says. */
export const CertificateRequest = z.object({ protocol: Protocol, node: z.uuid(), csr: z.string() });
export type CertificateRequest = z.output<typeof CertificateRequest>;
/** `ca` is every authority that clients trust just now: more than one while one takes over from another. */
export const CertificateReply = z.object({ protocol: Protocol, certificate: z.string(), ca: z.string() });
export type CertificateReply = z.output<typeof CertificateReply>;
