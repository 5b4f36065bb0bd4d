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
 * Every message carries `protocol`. The gateway refuses every version but its own, so control plane and agents are
 * upgraded together.
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
 * Permission for more deletions than a host performs by itself. Signed with the operator's key, which the control plane
 * does not hold: a misbehaving or compromised control plane cannot empty a host.
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

export const DesiredRequest = z.object({
  protocol: Protocol,
  agent: z.string(),
  /** The host revision that the agent has written to its disk. A gateway that knows a lower one was set back. */
  epoch: z.int(),
  revision: z.int(),
  /** Changes with every boot of the host, so that a reboot is noticed. */
  boot: z.string(),
  now: z.string(),
  trash_mb: z.int(),
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
  nodes: z.array(z.unknown()).optional(),
  allowance: DeletionAllowance.optional(),
  /** All captures that are desired now; a missing one is dropped. Undefined: unchanged. */
  captures: z.array(z.unknown()).optional(),
  /** Requests a report of every node with its spec, for `moorage recover`. */
  digest: z.boolean(),
});
export type DesiredReply = z.output<typeof DesiredReply>;

export const NodeState = z.enum([
  "working", // in progress; `step` names the current step
  "running",
  "stopped", // as desired: the spec's power is off
  "gone", // stopped, and its volume is in the trash
  "failed", // given up; `message` is the reason
  "held", // a tombstone that waits for the operator's allowance
  "unsupported", // the spec has something that this agent does not know
]);
export type NodeState = z.output<typeof NodeState>;

export const TaskReport = z.object({
  id: z.uuid(),
  state: z.enum(["working", "done", "failed"]),
  percent: z.int().min(0).max(100),
  message: z.string().max(1000).optional(),
});
export type TaskReport = z.output<typeof TaskReport>;

/** `content`, once it is done: the folder that holds the disk, its manifest written last. */
export const CaptureReport = TaskReport.extend({ content: z.uuid().optional() });
export type CaptureReport = z.output<typeof CaptureReport>;

export const DiskState = z.enum([
  "ok",
  "low", // nine tenths of the plan's disk are used
  "read_only", // nearly full: the server takes no writes until space is freed
]);
export type DiskState = z.output<typeof DiskState>;

/** Transactions that only a former primary has, as encrypted text; `name` is an object of its timeline. */
export const SavedErrantTransactions = z.object({
  name: z.string().max(200),
  gtid: z.string().max(100_000),
  bytes: z.int().nonnegative(),
  sha256: z.hex().length(64),
});
export type SavedErrantTransactions = z.output<typeof SavedErrantTransactions>;

/** A member's view of its group, as last seen by its host. An isolated member's is stale: only shared views count. */
export const GroupReport = z.object({
  /** `away`: the server is unreachable. */
  state: z.enum(["online", "recovering", "offline", "error", "away"]),
  role: z.enum(["primary", "secondary"]).optional(),
  /** The view that it is in, and the member that it considers the primary. */
  view: z.string().max(200).optional(),
  primary: z.uuid().optional(),
  /** How many members it considers online, including itself. */
  online: z.int().nonnegative(),
  /** Whether a member on another host is in the same view with the same primary. */
  shared: z.boolean(),
  /** Everything that was executed or received: reported while it is out of the group. */
  gtid: z.string().max(100_000).optional(),
  /** The bootstrap permission that it used last. */
  bootstrapped: z.uuid().optional(),
  /** It has transactions that its group does not have, and waits to be re-cloned. */
  errant: z.string().max(100_000).optional(),
  /** What still has to be applied before it could become primary, in seconds. */
  backlog_seconds: z.number().nonnegative().optional(),
  /** Asynchronous cluster: the newest term that its host knows. */
  term: z.int().optional(),
  /** Its server was primary in this term and has ended; its host will not start it as primary in that term again. */
  fenced: z.int().optional(),
  /** Why it can never follow the primary with the data that it has, in a sentence. */
  unusable: z.string().max(1000).optional(),
  /** The errant transactions are in the object store. */
  saved_errant: SavedErrantTransactions.optional(),
});
export type GroupReport = z.output<typeof GroupReport>;

/** One change of a cluster's primary, as seen by one host. Each of its hosts reports it; `view` identifies it. */
export const PrimaryChange = z.object({
  node: z.uuid(),
  group: z.uuid(),
  view: z.string().max(200),
  from: z.uuid().optional(),
  to: z.uuid(),
  /** When this host's proxy first forwarded to the new primary. */
  at: z.string(),
  /** Milliseconds since the old primary was last healthy until: it was missed, another elected, clients reached it. */
  phases: z.object({ missed: z.int().optional(), elected: z.int().optional(), led: z.int().optional() }),
  /** Executed by the old primary when it was last seen, and by the new one when the proxy forwarded to it. */
  gtid_before: z.string().max(100_000).optional(),
  gtid_after: z.string().max(100_000).optional(),
});
export type PrimaryChange = z.output<typeof PrimaryChange>;

export const NodeReport = z.object({
  node: z.uuid(),
  epoch: z.int(),
  generation: z.int(),
  state: NodeState,
  step: z.string().optional(),
  percent: z.int().min(0).max(100),
  message: z.string().max(1000).optional(),
  used_disk_mb: z.int().optional(),
  disk: DiskState.optional(),
  /** The timeline that its server runs on. */
  timeline: z.uuid().optional(),
  tasks: z.array(TaskReport).optional(),
  /** For a member of a cluster. */
  group: GroupReport.optional(),
  /** Only in a digest: the spec as it is on the host's disk. */
  spec: NodeSpec.optional(),
});
export type NodeReport = z.output<typeof NodeReport>;

export const ObservedRequest = z.object({
  protocol: Protocol,
  /** True when `nodes` contains every node that the host knows. */
  complete: z.boolean(),
  /** The epoch of the digest request that this answers, if it answers one. */
  digest: z.int().optional(),
  nodes: z.array(NodeReport),
  captures: z.array(CaptureReport).optional(),
  /** Sent again until they are acknowledged. */
  changes: z.array(PrimaryChange).max(100).optional(),
  /** Containers and volumes on the host that belong to no spec. They are left alone, and shown to the operator. */
  unknown: z.array(z.string()),
});
export type ObservedRequest = z.output<typeof ObservedRequest>;
export const ObservedReply = z.object({ protocol: Protocol });

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
/** `ca`: every authority that clients currently trust; more than one while authorities are being replaced. */
export const CertificateReply = z.object({ protocol: Protocol, certificate: z.string(), ca: z.string() });
export type CertificateReply = z.output<typeof CertificateReply>;

/**
 * A base copy: `copies/<id>/manifest.json` and `copies/<id>/part-000001`, …. Binary logs: `logs/<name>`; those of a
 * cluster's member end with a mark of its own, so that members never overwrite each other. Lost transactions of a
 * former primary: `lost/<term>.<mark>`.
 */
export const ObjectName = z
  .string()
  .regex(
    /^(copies\/[0-9a-f-]{36}\/(manifest\.json|part-\d{6})|logs\/binlog\.\d{6,}(\.[0-9a-f]{16})?|lost\/\d+\.[0-9a-f]{16})$/,
  );

/** `timeline` must be the node's desired one: an outdated host cannot write into another timeline. */
export const UploadsRequest = z.object({
  protocol: Protocol,
  node: z.uuid(),
  timeline: z.uuid(),
  names: z.array(ObjectName).min(1).max(100),
});
export type UploadsRequest = z.output<typeof UploadsRequest>;
/** In the order of the names. Each takes one PUT of any length, with a Content-MD5 that the store checks. */
export const UploadsReply = z.object({ protocol: Protocol, urls: z.array(z.url()) });
export type UploadsReply = z.output<typeof UploadsReply>;

/** A base copy that is complete in the object store, its manifest written last. */
export const ArchivedCopy = z.object({
  id: z.uuid(),
  /** The copy holds everything that was committed before `started_at` and nothing committed after `ended_at`. */
  started_at: z.string(),
  ended_at: z.string(),
  gtid: z.string(),
  bytes: z.int().nonnegative(),
  parts: z.int().positive(),
  manifest_sha256: z.hex().length(64),
});
export type ArchivedCopy = z.output<typeof ArchivedCopy>;

/** A closed binary log that is in the object store. Logs of a timeline are reported in their order, without gaps. */
export const ArchivedLog = z.object({
  name: z.string(),
  sequence: z.int().positive(),
  closed_at: z.string(),
  /** Everything that was executed when the log was closed. */
  gtid: z.string(),
  /**
   * For a member of a cluster: everything that was executed before the log began. The gateway determines its place
   * among the logs of all members, because each member numbers its own.
   */
  previous: z.string().optional(),
  bytes: z.int().nonnegative(),
  sha256: z.hex().length(64),
});
export type ArchivedLog = z.output<typeof ArchivedLog>;

/** Where the archive of a cluster's timeline ends. */
const ArchiveEnd = z.object({
  /** Every transaction of the group that is in the archived logs. */
  gtid: z.string(),
  newest_copy: z.string().optional(),
});
export type ArchiveEnd = z.output<typeof ArchiveEnd>;

/** Sent again until it is acknowledged; sending it twice changes nothing. */
export const ArchivedRequest = z.object({
  protocol: Protocol,
  nodes: z.array(
    z.object({
      node: z.uuid(),
      timeline: z.uuid(),
      copies: z.array(ArchivedCopy).optional(),
      logs: z.array(ArchivedLog).optional(),
      /** Everything that was committed before this time is archived. Sent with logs, and once after midnight. */
      through: z.string().optional(),
      /** Asynchronous cluster: the term of the primary of these transactions. In a later term they may be lost. */
      term: z.int().optional(),
    }),
  ),
});
export type ArchivedRequest = z.output<typeof ArchivedRequest>;
/** What is then in the archive of the timelines. A member that takes over the archive sends an empty request first. */
export const ArchivedReply = z.object({
  protocol: Protocol,
  nodes: z.array(ArchiveEnd.extend({ node: z.uuid(), timeline: z.uuid() })).optional(),
});
export type ArchivedReply = z.output<typeof ArchivedReply>;

export const RecipeRequest = z.object({ protocol: Protocol, node: z.uuid(), purpose: z.enum(["data", "verify"]) });
export type RecipeRequest = z.output<typeof RecipeRequest>;

const StoredPart = z.object({ url: z.url(), sha256: z.hex().length(64), bytes: z.int() });
/** Builds a state of a timeline from a base and the logs after it, in order. */
export const Recipe = z.object({
  /** The result: the backup that a verification checks, and its time. */
  point: z.object({ backup: z.int().optional(), at: z.string() }),
  base: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("prepared"), sha256: z.string() }),
    /** The manifest has each part's length and SHA-256; `parts` are their addresses in order. */
    z.object({
      kind: z.literal("copy"),
      identity: z.string(),
      gtid: z.string(),
      manifest: z.object({ url: z.url(), sha256: z.hex().length(64) }),
      parts: z.array(z.url()),
    }),
  ]),
  logs: z.array(
    StoredPart.extend({
      name: z.string(),
      identity: z.string(),
      /** Everything that was executed at its end. A server that lacks any of it afterwards misses a log. */
      gtid: z.string(),
      /** Only transactions committed before this time are applied; then it is the last log of its timeline. */
      before: z.string().optional(),
    }),
  ),
  /** Parts of the other kept backups: only read, and compared with their SHA-256. */
  scrub: z.array(StoredPart).optional(),
});
export type Recipe = z.output<typeof Recipe>;
export const RecipeReply = z.object({ protocol: Protocol, recipe: Recipe });
export type RecipeReply = z.output<typeof RecipeReply>;

export const VerifiedRequest = z.object({
  protocol: Protocol,
  node: z.uuid(),
  timeline: z.uuid(),
  point: Recipe.shape.point,
  ok: z.boolean(),
  /** The result in a sentence: what was checked, or what is wrong. */
  message: z.string().max(1000),
});
export type VerifiedRequest = z.output<typeof VerifiedRequest>;
export const VerifiedReply = z.object({ protocol: Protocol });

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
