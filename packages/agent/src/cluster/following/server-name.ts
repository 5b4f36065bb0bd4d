import { createHash } from "node:crypto";
import { join } from "node:path";
import { serverUuidOf } from "@moorage/contract/agent";
import { readIfThere, writeDurably } from "../../durable-file.ts";
import type { NodeContext } from "../../node-context.ts";
import { usedIds } from "../../node-state.ts";
import { isFollowing } from "./decide-following.ts";

/** Another one after each renewal: the names of transactions that were lost with the data before are never given again. */
export const markOf = (node: string, renewed: string | undefined): string =>
  createHash("sha256")
    .update(`${node} ${renewed ?? ""}`)
    .digest("hex")
    .slice(0, 16);

/** Of a server that is about to be started: a member's transactions are named after its timeline and itself. */
export async function nameServer({ spec, paths }: NodeContext): Promise<void> {
  const { cluster, node, uid } = spec;
  if (cluster === undefined || !isFollowing(cluster)) return;
  const { renewed } = await usedIds(paths);
  const text = `[auto]\nserver-uuid=${serverUuidOf(cluster.group, markOf(node, renewed))}\n`;
  const file = join(paths.data, "auto.cnf");
  if ((await readIfThere(file)) !== text) await writeDurably(file, text, 0o640, uid);
}
