import { z } from "zod";

/** A whole number as PostgreSQL's `integer` holds it: what a host sends is bounded. */
export const Count = z
  .int()
  .nonnegative()
  .max(2 ** 31 - 1);

/** `copy`: a base copy, for a snapshot. `ship`: archive everything that was committed until now. */
const TaskKind = z.enum(["copy", "ship"]);

/** A node of a cluster, as the hosts of the other nodes reach it. */
export const Member = z.strictObject({
  node: z.uuid(),
  ordinal: z.int().nonnegative(),
  /** The name in the host's certificate, and the address at which the other hosts reach it. */
  host: z.string(),
  address: z.ipv4(),
});
export type Member = z.output<typeof Member>;

/**
 * The primary of an asynchronous cluster. Every change has a higher term: a host that knows a term obeys no lower one.
 * `reason` is why the previous primary takes no more writes:
 *
 * - `fenced`: its host recorded that its server ended and will not start it as primary in that term; or there was none.
 * - `handover`: a switchover of a healthy primary: it closes first, then the new one takes all of its transactions.
 * - `forced`: promoted by a person. The old primary may be alive: its proxies must notice the missing replicas first.
 * - `sole_survivor`: promoted by a person who confirmed that this member is the only one left.
 */
const PrimaryTerm = z.strictObject({
  node: z.uuid(),
  term: z.int().positive(),
  reason: z.enum(["fenced", "handover", "forced", "sole_survivor"]),
  /** The previous primary: for `handover`, and for `forced` if a tenant requested it. */
  from: z.uuid().optional(),
});
export type PrimaryTerm = z.output<typeof PrimaryTerm>;

/**
 * A node's place in a cluster of three. Every one-time order has an id: the host records the id before it acts, so that
 * neither a repeated spec nor a restart repeats the act.
 */
const Cluster = z.strictObject({
  replication: z.enum(["semi_synch", "asynch"]),
  /** The name of its group: different for every timeline of a database. */
  group: z.uuid(),
  /** Only for an asynchronous cluster: a group elects its own primary. */
  primary: PrimaryTerm.optional(),
  /** All members, including this one, in the order of their ordinals. */
  members: z.array(Member).length(3),
  /** Rises with each replacement: of two lists of members, the one with the higher number is the later one. */
  members_version: z.int().nonnegative(),
  /** Permission for this node to bootstrap the group, valid once: two groups of one name would be two databases. */
  bootstrap: z.uuid().optional(),
  /** The member joins no group, so that a report "in no group" stays true. Ends before another member may bootstrap. */
  stay_out: z.literal(true).optional(),
  /** Re-clone the data from another member before joining, whatever the node has. */
  reclone: z.strictObject({ id: z.uuid(), donor: z.uuid().optional() }).optional(),
  /** The member with this order asks the group to make it the primary. */
  make_primary: z.uuid().optional(),
});
export type Cluster = z.output<typeof Cluster>;

/** Re-clones that a host receives at once: each writes as fast as the disks, which tenants use too. */
export const clonesPerHost = 2;

/** Host ports derived from the database's port: for its member's peers, and for readers of its secondaries. */
export const peerPortOf = (port: number): number => port + 4096;
export const readOnlyPortOf = (port: number): number => port + 8192;

/**
 * The whole desired state of one node, as it is written to the host's disk before it is applied.
 * Strict: an agent reports a spec with a field that it does not know as `unsupported` and applies none of it.
 * It holds no secret.
 */
export const NodeSpec = z.strictObject({
  version: z.literal(1),
  node: z.uuid(),
  /** A spec replaces another only if its (epoch, generation) is higher. */
  epoch: Count,
  generation: Count.positive(),
  /** The control plane's signature of this spec for this host, to be shown with reports about it. See `Statement`. */
  seal: z.string().max(200).optional(),
  /** Set: the operation that removes this node. Nothing else removes a node. */
  tombstone: z.strictObject({ operation: z.int() }).optional(),
  /** The owner and settings: enough to recreate the database's row if the control plane lost it. */
  database: z.strictObject({
    account: z.int(),
    id: z.int(),
    label: z.string(),
    region: z.string(),
    plan: z.string(),
    engine: z.string(),
    cluster_size: z.int(),
    replication_type: z.string(),
    encrypted: z.boolean(),
    ssl_connection: z.boolean(),
    allow_list: z.array(z.string()),
    created: z.string(),
    /** The database it began as a copy of: a client that compares finds what it requested. */
    fork: z.strictObject({ source: z.int(), restore_time: z.string().optional() }).optional(),
  }),
  ordinal: z.int().nonnegative(),
  engine: z.strictObject({
    name: z.literal("mysql"),
    version: z.string(),
    /** SHA-256 of the image archive and of the prepared data directory. */
    image: z.string(),
    prepared: z.string(),
  }),
  resources: z.strictObject({ memory_mb: z.int(), vcpus: z.number(), disk_mb: z.int() }),
  network: z.strictObject({ address: z.ipv4(), port: z.int().min(1024).max(32767) }),
  /**
   * Sources that may reach the node on `network.port` of its host: canonical CIDRs of both families. Absent: none.
   * The agent parses them strictly again; a list that it cannot parse is not applied.
   */
  firewall: z.strictObject({ sources: z.array(z.string()) }).optional(),
  /** The user id of the node's process on its host, used by no other node. */
  uid: z.int(),
  server_id: z.int().positive(),
  /** Raised when the password changes; the agent then requests it (`/v1/secrets`). */
  credentials: z.strictObject({ username: z.string(), version: z.int().positive() }),
  /** The names in the node's certificate; a higher `version` replaces key and certificate. */
  tls: z.strictObject({ names: z.array(z.string()).min(1), version: z.int().positive() }).optional(),
  /** `off`: the server is stopped and its firewall closed; the volume stays. Absent means on. */
  power: z.literal("off").optional(),
  /**
   * The timeline of the node's data: each timeline has a volume of its own. Absent means the first one.
   * The data of origin `archive` come from the object store, by the recipe from the gateway (`/v1/recipe`).
   */
  data: z
    .strictObject({
      timeline: z.uuid(),
      /** Names the volume: 0 is the first timeline of the database, each restore takes the next number. */
      ordinal: z.int().nonnegative(),
      /** `cluster`: cloned from another member, also without `cluster.reclone`; starts from the prepared directory. */
      origin: z.enum(["prepared", "archive", "cluster"]),
      /** The ordinal of the previous timeline while a return to it is possible. Volumes of others go to the trash. */
      keep: z.int().nonnegative().optional(),
    })
    .optional(),
  /** How the node is archived in the object store. Absent: not at all. */
  archive: z
    .strictObject({
      /** Everything that is stored is encrypted to this age recipient; the host itself cannot decrypt it. */
      recipient: z.string(),
      /** Binary logs are closed and shipped this often, if anything was written. */
      log_seconds: z.int().positive(),
      /** The hours of the day (UTC) in which the host takes its base copies, one after the other. */
      copy_hours: z.strictObject({ from: z.int().min(0).max(23), to: z.int().min(1).max(24) }),
      /** The newest restore point is verified this often, and after a change of the image or the agent. */
      verify_days: z.number().positive(),
      /** Another member is the archiver: this one archives only what `tasks` request. */
      archiver: z.literal(false).optional(),
    })
    .optional(),
  /** Absent for a single node. */
  cluster: Cluster.optional(),
  /** Long-running work, by id: started if the id is new to the host, otherwise only reported. */
  tasks: z.array(z.strictObject({ id: z.uuid(), kind: TaskKind })).optional(),
});
export type NodeSpec = z.output<typeof NodeSpec>;

export type Generation = Pick<NodeSpec, "epoch" | "generation">;

export const isNewer = (a: Generation, b: Generation): boolean =>
  a.epoch !== b.epoch ? a.epoch > b.epoch : a.generation > b.generation;
