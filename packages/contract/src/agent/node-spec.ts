import { z } from "zod";

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
  gate: z.strictObject({ sources: z.array(z.string()) }).optional(),
  /** The user id of the node's process on its host, its own. */
  uid: z.int(),
  server_id: z.int().positive(),
  /** Raised when the password changes; the agent then asks for it (`/v1/secrets`). */
  credentials: z.strictObject({ username: z.string(), version: z.int().positive() }),
  /** The names that the node's certificate is for; `version` is raised to have key and certificate made anew. */
  tls: z.strictObject({ names: z.array(z.string()).min(1), version: z.int().positive() }).optional(),
});
export type NodeSpec = z.output<typeof NodeSpec>;

export type Generation = Pick<NodeSpec, "epoch" | "generation">;

export const isNewer = (a: Generation, b: Generation): boolean =>
  a.epoch !== b.epoch ? a.epoch > b.epoch : a.generation > b.generation;
