/** What a host reports of its nodes, its captures and its clusters: the messages of `/v1/observed`. */
import { z } from "zod";
import { Count, NodeSpec } from "./node-spec.ts";
import { Protocol } from "./protocol.ts";

export const NodeState = z.enum([
  "working", // in progress; `step` names the current step
  "running",
  "stopped", // as desired: the spec's power is off
  "gone", // stopped, and its volume is in the trash
  "failed", // given up; `message` is the reason
  "held", // a tombstone or a re-clone that the host's limit of deletions holds
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
  /**
   * The spec by which the server was looked at. The host had ended all work by an earlier one before the look began, so
   * that what it saw was not about to change.
   */
  seen_by: z.object({ epoch: Count, generation: Count }).optional(),
  role: z.enum(["primary", "secondary"]).optional(),
  /** The view that it is in, and the member that it considers the primary. */
  view: z.string().max(200).optional(),
  primary: z.uuid().optional(),
  /** How many members it considers online, including itself. */
  online: Count,
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
  term: Count.optional(),
  /** Asynchronous cluster: the newest term in which it was primary or replicated from the primary; 0: none. */
  last_term: Count.optional(),
  /** Its server was primary in this term and has ended; its host will not start it as primary in that term again. */
  fenced: Count.optional(),
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
  epoch: Count,
  generation: Count,
  /** The seal of the spec of this generation: without it, a generation that was never sent to this host is refused. */
  seal: z.string().max(200).optional(),
  state: NodeState,
  step: z.string().max(200).optional(),
  percent: z.int().min(0).max(100),
  message: z.string().max(1000).optional(),
  used_disk_mb: Count.optional(),
  disk: DiskState.optional(),
  /** The server runs and has not answered for a minute. It is killed if that lasts. */
  unresponsive: z.literal(true).optional(),
  /** The timeline that its server runs on. */
  timeline: z.uuid().optional(),
  tasks: z.array(TaskReport).optional(),
  /** For a member of a cluster. */
  group: GroupReport.optional(),
  /** Only in a digest: the spec as it is on the host's disk. */
  spec: NodeSpec.optional(),
});
export type NodeReport = z.output<typeof NodeReport>;

/**
 * Orders the requests of a host: a request that hung may arrive after a newer one. `start` rises with every start of the
 * agent, `count` with every request since then.
 */
const Sequence = z.object({ start: z.int().nonnegative(), count: z.int().nonnegative() });
export type Sequence = z.output<typeof Sequence>;

export const ObservedRequest = z.object({
  protocol: Protocol,
  sequence: Sequence,
  /** True when `nodes` contains every node that the host knows. */
  complete: z.boolean(),
  /** The epoch of the digest request that this answers, if it answers one. */
  digest: Count.optional(),
  nodes: z.array(NodeReport),
  captures: z.array(CaptureReport).optional(),
  /** Sent again until they are acknowledged. */
  changes: z.array(PrimaryChange).max(100).optional(),
  /** Containers and volumes on the host that belong to no spec. They are left alone, and shown to the operator. */
  unknown: z.array(z.string().max(500)).max(10_000),
});
export type ObservedRequest = z.output<typeof ObservedRequest>;
export const ObservedReply = z.object({ protocol: Protocol });
