import { createHash } from "node:crypto";
import { join } from "node:path";
import { serverUuidOf } from "@moorage/contract/agent";
import { readIfThere, writeDurably } from "../../durable-file.ts";
import type { NodeContext } from "../../node-context.ts";
import { usedIds } from "../../node-state.ts";
import { isAsynchronous } from "./decide-following.ts";

/** Changes with each re-clone: the GTIDs of transactions that were lost with the earlier data are never reused. */
export const markOf = (node: string, recloned: string | undefined): string =>
  createHash("sha256")
    .update(`${node} ${recloned ?? ""}`)
    .digest("hex")
    .slice(0, 16);

/** For a server that is about to start: its transactions are named after the timeline and the member. */
export async function nameServer({ spec, paths }: NodeContext): Promise<void> {
  const { cluster, node, uid } = spec;
  if (cluster === undefined || !isAsynchronous(cluster)) return;
  const { recloned } = await usedIds(paths);
  const text = `[auto]\nserver-uuid=${serverUuidOf(cluster.group, markOf(node, recloned))}\n`;
  const file = join(paths.data, "auto.cnf");
  if ((await readIfThere(file)) !== text) await writeDurably(file, text, 0o640, uid);
}
