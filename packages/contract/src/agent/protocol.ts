/**
 * What a host's agent and the fleet gateway say to each other, over mutual TLS; the agent always calls.
 *
 *   POST /v1/enrol     one-time token and CSR in, certificate out (the only call without a client certificate)
 *   POST /v1/renew     CSR in, certificate out, well before the old one ends
 *   POST /v1/desired    long poll and lease: what this host should run
 *   POST /v1/observed  what it runs
 *   POST /v1/secrets   the secrets of one node of this host, asked for when they are used, never stored there
 *   POST /v1/certificate  CSR of one node of this host in, the certificate that its clients see out
 *   POST /v1/uploads   names in, addresses to PUT them to out: the bytes go straight to the object store
 *   POST /v1/archived  what of a node's past is in the object store now
 *   POST /v1/recipe    how to make a node's data, or its newest restore point, from the object store
 *   POST /v1/verified  what came of trying such a restore
 *   POST /v1/keyring   the encryption keys of one node of this host, before anything is written with them
 *   POST /v1/samples   figures of the nodes, for their tenants' plots
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

export const DesiredRequest = z.object({
  protocol: Protocol,
  agent: z.string(),
  /** The host revision that the agent has applied to its disk. A gateway that knows less was set back in time. */
  epoch: z.int(),
  revision: z.int(),
  /** Changes with every boot of the host, so that a reboot is seen. */
  boot: z.string(),
  now: z.string(),
  trash_mb: z.int(),
  /** The captures that it knows of: an agent that was started anew knows none. Absent: it cannot capture. */
  captures: z.array(z.uuid()).optional(),
});
export type DesiredRequest = z.output<typeof DesiredRequest>;

/** A disk of the host to be kept as an image. Asked for until its end was heard. */
export const Capture = z.object({ id: z.uuid(), device: z.string(), max_bytes: z.int().positive() });
export type Capture = z.output<typeof Capture>;

/**
 * The whole wanted state of a host. A node that is missing here is left as it is: absence never deletes.
 * `nodes` is undefined when nothing changed before the poll ended.
 */
export const DesiredReply = z.object({
  protocol: Protocol,
  epoch: z.int(),
  revision: z.int(),
  nodes: z.array(z.unknown()).optional(),
  allowance: DeletionAllowance.optional(),
  /** All that are wanted now; one that is missing is dropped. Undefined: as the agent knows them. */
  captures: z.array(z.unknown()).optional(),
  /** Asks for a report of every node with its spec, for `moorage recover`. */
  digest: z.boolean(),
});
export type DesiredReply = z.output<typeof DesiredReply>;

export const NodeState = z.enum([
  "working", // on the way; `step` says where
  "running",
  "stopped", // as the spec wants it: its power is off
  "gone", // stopped, and its volume is in the trash
  "failed", // given up, `message` says why
  "held", // a tombstone that waits for the operator's allowance
  "unsupported", // the spec asks for something this agent does not know
]);
export type NodeState = z.output<typeof NodeState>;

export const TaskReport = z.object({
  id: z.uuid(),
  state: z.enum(["working", "done", "failed"]),
  percent: z.int().min(0).max(100),
  message: z.string().max(1000).optional(),
});
export type TaskReport = z.output<typeof TaskReport>;

/** `content`, when it is done: the folder that holds the disk, its manifest last. */
export const CaptureReport = TaskReport.extend({ content: z.uuid().optional() });
export type CaptureReport = z.output<typeof CaptureReport>;

export const DiskState = z.enum([
  "ok",
  "low", // nine tenths of the plan's disk are used
  "read_only", // nearly full: the server takes no writes until there is room
]);
export type DiskState = z.output<typeof DiskState>;

/** Transactions of a former leader that nobody else has, as text, sealed; `name` is among the objects of its timeline. */
export const SavedErrantTransactions = z.object({
  name: z.string().max(200),
  gtid: z.string().max(100_000),
  bytes: z.int().nonnegative(),
  sha256: z.hex().length(64),
});
export type SavedErrantTransactions = z.output<typeof SavedErrantTransactions>;

/** What a member says of its group, as its host saw it last. A cut member's own view is stale: only a shared one counts. */
export const GroupReport = z.object({
  /** `away`: the server does not answer. */
  state: z.enum(["online", "recovering", "offline", "error", "away"]),
  role: z.enum(["primary", "secondary"]).optional(),
  /** The view that it is in, and which of the members it calls the primary. */
  view: z.string().max(200).optional(),
  primary: z.uuid().optional(),
  /** How many members it counts as online, itself too. */
  online: z.int().nonnegative(),
  /** Whether another host's member is in the same view with the same primary. */
  shared: z.boolean(),
  /** Everything that it has executed or received: told while it is in no group. */
  gtid: z.string().max(100_000).optional(),
  /** The permission to begin that it used last. */
  bootstrapped: z.uuid().optional(),
  /** Has transactions that its group does not have; it waits to be renewed. */
  errant: z.string().max(100_000).optional(),
  /** What still has to be applied before it could lead, in seconds. */
  backlog_seconds: z.number().nonnegative().optional(),
  /** Of an asynchronous cluster: the newest term that its host knows. */
  term: z.int().optional(),
  /** Its server led in this term and has ended; its host will not start it to lead in that term again. */
  fenced: z.int().optional(),
  /** Why it can never follow with the data that it has, in a sentence. */
  unusable: z.string().max(1000).optional(),
  /** The transactions that it alone has are in the object store. */
  saved_errant: SavedErrantTransactions.optional(),
});
export type GroupReport = z.output<typeof GroupReport>;

/** One change of a cluster's primary, as one host saw it. The hosts of a cluster each tell it; `view` makes it the same. */
export const PrimaryChange = z.object({
  node: z.uuid(),
  group: z.uuid(),
  view: z.string().max(200),
  from: z.uuid().optional(),
  to: z.uuid(),
  /** When this host's gate led to the new one. */
  at: z.string(),
  /** Milliseconds from when the old one was last seen well: until it was missed, another was elected, the gate led to it. */
  phases: z.object({ missed: z.int().optional(), elected: z.int().optional(), led: z.int().optional() }),
  /** Executed by the old one when it was last seen, and by the new one when the gate led to it. */
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
  /** Of a member of a cluster. */
  group: GroupReport.optional(),
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
  captures: z.array(CaptureReport).optional(),
  /** Told again until they are acknowledged. */
  changes: z.array(PrimaryChange).max(100).optional(),
  /** Containers and volumes on the host that no spec explains. They are left alone, and shown to the operator. */
  unknown: z.array(z.string()),
});
export type ObservedRequest = z.output<typeof ObservedRequest>;
export const ObservedReply = z.object({ protocol: Protocol });

export const SecretsRequest = z.object({ protocol: Protocol, node: z.uuid() });
export type SecretsRequest = z.output<typeof SecretsRequest>;
/** `keyring`: the keys that this node was last known to have, for one that lost them. */
export const SecretsReply = z.object({
  protocol: Protocol,
  admin_password: z.string(),
  /** Of the members' own account, by which they replicate from each other. */
  group_password: z.string().optional(),
  keyring: z.base64().optional(),
});
export type SecretsReply = z.output<typeof SecretsReply>;

/** The key is the node's and stays on its host. The certificate's names are those of the wanted spec, whatever the CSR says. */
export const CertificateRequest = z.object({ protocol: Protocol, node: z.uuid(), csr: z.string() });
export type CertificateRequest = z.output<typeof CertificateRequest>;
/** `ca` is every authority that clients trust just now: more than one while one takes over from another. */
export const CertificateReply = z.object({ protocol: Protocol, certificate: z.string(), ca: z.string() });
export type CertificateReply = z.output<typeof CertificateReply>;

/**
 * Of a base copy: `copies/<id>/manifest.json` and `copies/<id>/part-000001`, …; of the binary logs: `logs/<name>`. Those
 * of a cluster's member end with a mark of its own, so that members never write over each other. What only a former leader
 * had: `lost/<term>.<mark>`.
 */
export const ObjectName = z
  .string()
  .regex(
    /^(copies\/[0-9a-f-]{36}\/(manifest\.json|part-\d{6})|logs\/binlog\.\d{6,}(\.[0-9a-f]{16})?|lost\/\d+\.[0-9a-f]{16})$/,
  );

/** `timeline` must be the one that is wanted of the node: a host that is behind cannot write into another past. */
export const UploadsRequest = z.object({
  protocol: Protocol,
  node: z.uuid(),
  timeline: z.uuid(),
  names: z.array(ObjectName).min(1).max(100),
});
export type UploadsRequest = z.output<typeof UploadsRequest>;
/** In the order of the names. Each takes one PUT of any length, with Content-MD5 for the store to compare. */
export const UploadsReply = z.object({ protocol: Protocol, urls: z.array(z.url()) });
export type UploadsReply = z.output<typeof UploadsReply>;

/** A base copy that is whole in the object store, its manifest last. */
export const ArchivedCopy = z.object({
  id: z.uuid(),
  /** The copy holds everything that was committed before `started_at` and nothing of after `ended_at`. */
  started_at: z.string(),
  ended_at: z.string(),
  gtid: z.string(),
  bytes: z.int().nonnegative(),
  parts: z.int().positive(),
  manifest_sha256: z.hex().length(64),
});
export type ArchivedCopy = z.output<typeof ArchivedCopy>;

/** A closed binary log that is in the object store. Logs of a timeline are told in their order, without gaps. */
export const ArchivedLog = z.object({
  name: z.string(),
  sequence: z.int().positive(),
  closed_at: z.string(),
  /** Everything that was executed when it was closed. */
  gtid: z.string(),
  /**
   * Of a cluster's member: everything that was executed before the log began. Its place among the logs of all members is
   * the gateway's to give, because each numbers its own.
   */
  previous: z.string().optional(),
  bytes: z.int().nonnegative(),
  sha256: z.hex().length(64),
});
export type ArchivedLog = z.output<typeof ArchivedLog>;

/** Where the archive of a cluster's timeline ends. */
const ArchiveEnd = z.object({
  /** Every transaction of its group that is in its logs. */
  gtid: z.string(),
  newest_copy: z.string().optional(),
});
export type ArchiveEnd = z.output<typeof ArchiveEnd>;

/** Told again until it is acknowledged; telling it twice changes nothing. */
export const ArchivedRequest = z.object({
  protocol: Protocol,
  nodes: z.array(
    z.object({
      node: z.uuid(),
      timeline: z.uuid(),
      copies: z.array(ArchivedCopy).optional(),
      logs: z.array(ArchivedLog).optional(),
      /** Everything that was committed before this time is in the archive. Told with logs, and once past midnight. */
      through: z.string().optional(),
      /** Of an asynchronous cluster: the term of whose leader it has what it tells. In a later one that may be lost. */
      term: z.int().optional(),
    }),
  ),
});
export type ArchivedRequest = z.output<typeof ArchivedRequest>;
/** What the archive has of the timelines then. A member that is to go on with it asks without telling anything. */
export const ArchivedReply = z.object({
  protocol: Protocol,
  nodes: z.array(ArchiveEnd.extend({ node: z.uuid(), timeline: z.uuid() })).optional(),
});
export type ArchivedReply = z.output<typeof ArchivedReply>;

export const RecipeRequest = z.object({ protocol: Protocol, node: z.uuid(), purpose: z.enum(["data", "verify"]) });
export type RecipeRequest = z.output<typeof RecipeRequest>;

const StoredPart = z.object({ url: z.url(), sha256: z.hex().length(64), bytes: z.int() });
/** From a base, and the logs after it in their order, to a state of the past. */
export const Recipe = z.object({
  /** What it leads to: the backup that a verification is about, and its time. */
  point: z.object({ backup: z.int().optional(), at: z.string() }),
  base: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("prepared"), sha256: z.string() }),
    /** The manifest says each part's length and SHA-256; `parts` are their addresses in order. */
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
      /** Everything that was executed at its end. A server that lacks some of it afterwards misses a log. */
      gtid: z.string(),
      /** Only what was committed before this time is wanted of it; it is the last of its timeline then. */
      before: z.string().optional(),
    }),
  ),
  /** Of the other kept backups: only read, and compared with their SHA-256. */
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
  /** What was found, in a sentence: what was checked, or what is wrong. */
  message: z.string().max(1000),
});
export type VerifiedRequest = z.output<typeof VerifiedRequest>;
export const VerifiedReply = z.object({ protocol: Protocol });

export const KeyringRequest = z.object({ protocol: Protocol, node: z.uuid(), keyring: z.base64() });
export type KeyringRequest = z.output<typeof KeyringRequest>;
export const KeyringReply = z.object({ protocol: Protocol });

/** Counters and gauges of a node, each by its name in `metricNames`. */
export const SamplesRequest = z.object({
  protocol: Protocol,
  nodes: z.array(z.object({ node: z.uuid(), values: z.record(z.string(), z.number()) })),
});
export type SamplesRequest = z.output<typeof SamplesRequest>;
export const SamplesReply = z.object({ protocol: Protocol });

/** Each try of a capture is a folder of its own, so that two of them never mix. */
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
