import { createHash } from "node:crypto";
import { join } from "node:path";
import { serverUuidOf } from "@moorage/contract/agent";
import { writeDurably } from "../../base/durable-file.ts";
import type { NodeContext } from "../../node/node-context.ts";
import { readNodeFile } from "../../node/node-files.ts";
import { usedIds } from "../../specs/node-state.ts";
import { isAsynchronous } from "../../specs/member.ts";

/** Changes with each re-clone: the GTIDs of transactions that were lost with the earlier data are never reused. */
export const markOf = (node: string, recloned: string | undefined): string =>
  createHash("sha256")
    .update(`${node} ${recloned ?? ""}`)
    .digest("hex")
    .slice(0, 16);

/** For a server that is about to start: its transactions are named after the timeline and the member. */
export async function nameServer({ spec, paths }: Pick<NodeContext, "spec" | "paths">): Promise<void> {
  const { cluster, node, uid } = spec;
  if (cluster === undefined || !isAsynchronous(cluster)) return;
  const { recloned } = await usedIds(paths);
  const text = `[auto]\nserver-uuid=${serverUuidOf(cluster.group, markOf(node, recloned))}\n`;
  const file = join(paths.data, "auto.cnf");
  if ((await readNodeFile(file))?.toString() !== text) await writeDurably(file, text, 0o640, uid);
}
