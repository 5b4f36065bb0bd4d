import { z } from "zod";
import { readIfThere, writeDurably } from "./durable-file.ts";
import type { NodePaths } from "./host-paths.ts";

/** What was done to a node and cannot be seen from outside. */
const NodeRecord = z.object({ credentials_version: z.int() });

export async function appliedCredentials(paths: NodePaths): Promise<number> {
  const text = await readIfThere(paths.state);
  return text === undefined ? 0 : NodeRecord.parse(JSON.parse(text)).credentials_version;
}

export const recordCredentials = (paths: NodePaths, version: number): Promise<void> =>
  writeDurably(paths.state, JSON.stringify({ credentials_version: version }));
