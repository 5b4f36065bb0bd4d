import { z } from "zod";
import { readIfThere, writeDurably } from "./durable-file.ts";
import type { NodePaths } from "./host-paths.ts";

/** What was done to a node and cannot be seen from outside. */
const NodeRecord = z.object({
  credentials_version: z.int().default(0),
  /** `used` is the fingerprint of what the server was told to load last. */
  certificate: z.object({ version: z.int(), used: z.string().optional() }).optional(),
});
type NodeRecord = z.output<typeof NodeRecord>;

export const readNodeRecord = async (paths: NodePaths): Promise<NodeRecord> =>
  NodeRecord.parse(JSON.parse((await readIfThere(paths.state)) ?? "{}"));

/** One run at a time works on a node, so nothing is lost between reading and writing. */
export const updateNodeRecord = async (paths: NodePaths, change: Partial<NodeRecord>): Promise<void> =>
  writeDurably(paths.state, JSON.stringify({ ...(await readNodeRecord(paths)), ...change }));

export const appliedCredentials = async (paths: NodePaths): Promise<number> =>
  (await readNodeRecord(paths)).credentials_version;

export const recordCredentials = (paths: NodePaths, version: number): Promise<void> =>
  updateNodeRecord(paths, { credentials_version: version });
