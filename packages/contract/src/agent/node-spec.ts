import { z } from "zod";

/** `copy`: a base copy, for a snapshot. `ship`: everything that was committed until now is in the archive. */
const TaskKind = z.enum(["copy", "ship"]);

/** A node of a cluster, as the hosts of the others reach it. */
export const Member = z.strictObject({
  node: z.uuid(),
  ordinal: z.int().nonnegative(),
  /** Its host: the name in that host's certificate, and the address at which it lets the other hosts in. */
  host: z.string(),
  address: z.ipv4(),
});
export type Member = z.output<typeof Member>;

/**
 * Who takes the writes of an asynchronous cluster. Every change of it has a higher term: whoever knows a term obeys no
 * lower one. `over` says why the one before takes no more:
 *
 * - `fence`: its host wrote down that its server has ended, and does not start it to lead in that term; or there was none.
 * - `hand`: it is well, and gives over to this one: closed first, then everything that it has is taken.
 * - `word`: a person said so. It may be alive, so that its gates have to miss its followers first.
 * - `alone`: a person said so, and that this one is all that is left.
 */
const PrimaryTerm = z.strictObject({
  node: z.uuid(),
  term: z.int().positive(),
  reason: z.enum(["fenced", "handover", "forced", "sole_survivor"]),
  /** Of `hand`: who gives over. */
  from: z.uuid().optional(),
});
export type PrimaryTerm = z.output<typeof PrimaryTerm>;

/**
 * How a node belongs to a database of three. Everything that may be done once is named by an id: the host writes down
 * that it did it before it does it, so that neither a repeated spec nor a restart does it again.
 */
const Cluster = z.strictObject({
  replication: z.enum(["semi_synch", "asynch"]),
  /** The name of its group: every timeline of a database has another. */
  group: z.uuid(),
  /** Of an asynchronous cluster, and of no other: a group elects its own. */
  primary: PrimaryTerm.optional(),
  /** All of them, this one too, by their ordinals. */
  members: z.array(Member).length(3),
  /** Permission to begin the group alone, for this node. Two groups of one name would be two truths: it is used once. */
  bootstrap: z.uuid().optional(),
  /** Its data are to come from another member before it joins, whatever it has. */
  reclone: z.strictObject({ id: z.uuid(), donor: z.uuid().optional() }).optional(),
  /** It is to lead now: the member that has this asks the group to make it the primary. */
  make_primary: z.uuid().optional(),
});
export type Cluster = z.output<typeof Cluster>;

/** Ports of a host that go with a database's own: where its member is reached by its peers, and its secondaries by readers. */
export const peerPortOf = (port: number): number => port + 4096;
export const readOnlyPortOf = (port: number): number => port + 8192;

/**
 * The whole wanted state of one node, as it is written to the host's disk before it is applied.
 * Strict: a field that an agent does not know makes it report `unsupported`, never apply a half of the spec.
 * It holds no secret.
 */
export const NodeSpec = z.strictObject({
  version: z.literal(1),
  node: z.uuid(),
  /** A spec replaces another only if its (epoch, generation) is higher. */
  epoch: z.int().nonnegative(),
  generation: z.int().positive(),
  /** Set: the node is to go, by this operation. There is no other way for it to go. */
  tombstone: z.strictObject({ operation: z.int() }).optional(),
  /** Whose it is: enough to write the database's row again if the control plane lost it. */
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
   * Who may reach the node on `network.port` of its host: canonical CIDRs of both families. Absent means nobody.
   * The agent reads them again strictly; what it cannot read is not applied.
   */
  firewall: z.strictObject({ sources: z.array(z.string()) }).optional(),
  /** The user id of the node's process on its host, its own. */
  uid: z.int(),
  server_id: z.int().positive(),
  /** Raised when the password changes; the agent then asks for it (`/v1/secrets`). */
  credentials: z.strictObject({ username: z.string(), version: z.int().positive() }),
  /** The names that the node's certificate is for; `version` is raised to have key and certificate made anew. */
  tls: z.strictObject({ names: z.array(z.string()).min(1), version: z.int().positive() }).optional(),
  /** `off`: the server is stopped and its gate closed; the volume stays. Absent means on. */
  power: z.literal("off").optional(),
  /**
   * Which of its pasts the node lives on: each timeline has a volume of its own. Absent means the first one.
   * The data of `archive` come from the object store by the recipe that the gateway gives (`/v1/recipe`).
   */
  data: z
    .strictObject({
      timeline: z.uuid(),
      /** Names the volume: 0 is the first timeline of the database, each restore takes the next number. */
      ordinal: z.int().nonnegative(),
      /** `cluster`: another member's, also without `cluster.renew`; the volume begins with the prepared directory. */
      origin: z.enum(["prepared", "archive", "cluster"]),
      /** The ordinal of the timeline before, while there may be a way back to it. Volumes of others go to the trash. */
      keep: z.int().nonnegative().optional(),
    })
    .optional(),
  /** How the node's past is kept in the object store. Absent: it is not. */
  archive: z
    .strictObject({
      /** Everything that is stored is encrypted to this age recipient; the host cannot read it back by itself. */
      recipient: z.string(),
      /** Binary logs are closed and shipped this often, if anything was written. */
      log_seconds: z.int().positive(),
      /** The hours of the day (UTC) in which the host takes its base copies, one after the other. */
      copy_hours: z.strictObject({ from: z.int().min(0).max(23), to: z.int().min(1).max(24) }),
      /** A restore of the newest point is tried this often, and after the image or the agent changed. */
      verify_days: z.number().positive(),
      /** Another member of the cluster keeps the past: nothing is archived from here but what `jobs` ask for. */
      archiver: z.literal(false).optional(),
    })
    .optional(),
  /** Absent: it is a database of one node. */
  cluster: Cluster.optional(),
  /** Long work, by name: begun if this id is new to the host, reported otherwise. */
  tasks: z.array(z.strictObject({ id: z.uuid(), kind: TaskKind })).optional(),
});
export type NodeSpec = z.output<typeof NodeSpec>;

export type Generation = Pick<NodeSpec, "epoch" | "generation">;

export const isNewer = (a: Generation, b: Generation): boolean =>
  a.epoch !== b.epoch ? a.epoch > b.epoch : a.generation > b.generation;
