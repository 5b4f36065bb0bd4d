/**
 * The protocol between a host's agent and the fleet gateway, over mutual TLS; the agent is always the client.
 *
 *   POST /v1/enrol     one-time token and CSR in, certificate out (the only call without a client certificate)
 *   POST /v1/renew     CSR in, certificate out, well before the old one expires
 *   POST /v1/desired   long poll and lease: what this host should run
 *   POST /v1/observed  what it runs
 *   POST /v1/secrets   the secrets of one node of this host, requested when they are used, never stored there
 *   POST /v1/certificate  CSR of one node of this host in, the certificate that its clients see out
 *   POST /v1/uploads   names in, addresses to PUT them to out: the bytes go straight to the object store
 *   POST /v1/archived  what of a node's timeline is in the object store now
 *   POST /v1/recipe    how to build a node's data, or its newest restore point, from the object store
 *   POST /v1/verified  the result of verifying such a restore
 *   POST /v1/keyring   the encryption keys of one node of this host, before anything is written with them
 *   POST /v1/samples   metrics of the nodes, for their tenants' plots
 *   POST /v1/image-uploads  names of one capture in, addresses to PUT them to out
 *
 * The messages of `/v1/observed` are in reports.ts, those about the object store in archive.ts.
 *
 * Every message carries `protocol`. The gateway refuses every version but its own, so control plane and agents are
 * upgraded together.
 */
import { z } from "zod";
import { Count } from "./node-spec.ts";

export const PROTOCOL = 1;
export const Protocol = z.literal(PROTOCOL);

export const EnrolRequest = z.object({ protocol: Protocol, token: z.string(), csr: z.string() });
export type EnrolRequest = z.output<typeof EnrolRequest>;
export const EnrolReply = z.object({ protocol: Protocol, host: z.int(), certificate: z.string() });
export type EnrolReply = z.output<typeof EnrolReply>;

/**
 * How long the gateway accepts a host's certificate. An agent renews it when a third is left; after that only a new
 * enrolment helps.
 */
export const HOST_CERTIFICATE_DAYS = 7;

export const RenewRequest = z.object({ protocol: Protocol, csr: z.string() });
export type RenewRequest = z.output<typeof RenewRequest>;
export const RenewReply = z.object({ protocol: Protocol, certificate: z.string() });
export type RenewReply = z.output<typeof RenewReply>;

/**
 * Permission for more deletions than a host performs by itself. Signed with the operator's key, which the control plane
 * does not hold: a misbehaving or compromised control plane cannot empty a host.
 */
export const DeletionAllowance = z.object({
  host: z.int(),
  count: z.int().positive(),
  from: z.string().max(40),
  until: z.string().max(40),
  /** Ed25519 over the JSON text of [host, count, from, until], base64. */
  signature: z.string().max(200),
});
export type DeletionAllowance = z.output<typeof DeletionAllowance>;
export const signedText = ({ host, count, from, until }: Omit<DeletionAllowance, "signature">): string =>
  JSON.stringify([host, count, from, until]);

/** How far a PostgreSQL server has written its log: the server, its timeline, and the position on it in bytes. */
export const Position = z.object({ server: z.string().max(100), timeline: Count, lsn: z.int().nonnegative() });
export type Position = z.output<typeof Position>;

/**
 * What the control plane told one host last, with its signature. The host keeps it and shows it with each poll. It is
 * the only evidence that the control plane's database was set back: nobody but the control plane can make one.
 */
export const Statement = z.object({
  epoch: Count,
  revision: z.int().nonnegative(),
  position: Position,
  seal: z.string().max(200),
});
export type Statement = z.output<typeof Statement>;

/**
 * The keys of hosts that were revoked while certificates of them may still be valid, as SHA-256 of the public keys: hosts
 * that share a cluster refuse them among themselves. `version` names the list.
 */
export const RevokedKeys = z.object({ version: z.string().max(100), keys: z.array(z.hex().length(64)).max(100_000) });
export type RevokedKeys = z.output<typeof RevokedKeys>;

export const DesiredRequest = z.object({
  protocol: Protocol,
  agent: z.string().max(200),
  /** The host revision that the agent has written to its disk. */
  epoch: Count,
  revision: z.int().nonnegative(),
  /**
   * The last statement, kept before any spec of its reply is written. A later one than `revision`: the agent ended in
   * between, and has specs on its disk of which `revision` says nothing. A control plane that knows less was set back.
   */
  told: Statement.optional(),
  /** Changes with every boot of the host, so that a reboot is noticed. */
  boot: z.string().max(200),
  now: z.string().max(100),
  trash_mb: z.int().nonnegative(),
  /** The version of the revoked keys that the host has. */
  revoked: z.string().max(100).optional(),
  /** The captures that the agent knows: a restarted agent knows none. Absent: it cannot capture. */
  captures: z.array(z.uuid()).optional(),
});
export type DesiredRequest = z.output<typeof DesiredRequest>;

/** A disk of the host to be captured as an image. Sent until its end was reported. */
export const Capture = z.object({ id: z.uuid(), device: z.string(), max_bytes: z.int().positive() });
export type Capture = z.output<typeof Capture>;

/**
 * The whole desired state of a host. A node that is missing here is left as it is: absence never deletes.
 * `nodes` is undefined when nothing changed before the poll ended.
 */
export const DesiredReply = z.object({
  protocol: Protocol,
  epoch: z.int(),
  revision: z.int(),
  /** Of this epoch and revision. Absent if the control plane was set back, or does not believe this host. */
  told: Statement.optional(),
  nodes: z.array(z.unknown()).optional(),
  /** Undefined: the host has this version. */
  revoked: RevokedKeys.optional(),
  allowance: DeletionAllowance.optional(),
  /** All captures that are desired now; a missing one is dropped. Undefined: unchanged. */
  captures: z.array(z.unknown()).optional(),
  /** Requests a report of every node with its spec, for `moorage admin recover`. */
  digest: z.boolean(),
});
export type DesiredReply = z.output<typeof DesiredReply>;

export const SecretsRequest = z.object({ protocol: Protocol, node: z.uuid() });
export type SecretsRequest = z.output<typeof SecretsRequest>;
/** `keyring`: the last known keys of this node, in case it lost them. */
export const SecretsReply = z.object({
  protocol: Protocol,
  admin_password: z.string(),
  /** The password of the members' own account, with which they replicate from each other. */
  group_password: z.string().optional(),
  keyring: z.base64().optional(),
});
export type SecretsReply = z.output<typeof SecretsReply>;

/** The node's key stays on its host. The certificate's names are those of the desired spec, not those of the CSR. */
export const CertificateRequest = z.object({ protocol: Protocol, node: z.uuid(), csr: z.string() });
export type CertificateRequest = z.output<typeof CertificateRequest>;
/**
 * `certificate`: what the server shows, with the certificates that its clients need beside those of the authorities that
 * they trust. `ca`: whom the server trusts. For a member of a cluster that is the authority of its cluster alone, for
 * another node every authority that clients currently trust; more than one while authorities are being replaced.
 */
export const CertificateReply = z.object({ protocol: Protocol, certificate: z.string(), ca: z.string() });
export type CertificateReply = z.output<typeof CertificateReply>;

export const KeyringRequest = z.object({ protocol: Protocol, node: z.uuid(), keyring: z.base64() });
export type KeyringRequest = z.output<typeof KeyringRequest>;
export const KeyringReply = z.object({ protocol: Protocol });

/** Counters and gauges of a node, by their names in `metricNames`. */
export const SamplesRequest = z.object({
  protocol: Protocol,
  nodes: z.array(z.object({ node: z.uuid(), values: z.record(z.string(), z.number()) })),
});
export type SamplesRequest = z.output<typeof SamplesRequest>;
export const SamplesReply = z.object({ protocol: Protocol });

/** Each attempt of a capture has its own folder, so that attempts never mix. */
export const ImageUploadsRequest = z.object({
  protocol: Protocol,
  capture: z.uuid(),
  content: z.uuid(),
  names: z
    .array(z.string().regex(/^(manifest\.json|chunk-\d{6})$/))
    .min(1)
    .max(100),
});
export type ImageUploadsRequest = z.output<typeof ImageUploadsRequest>;
