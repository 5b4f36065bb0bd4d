import { createHash } from "node:crypto";
import { join } from "node:path";
import { serverUuidOf } from "@moorage/contract/agent";
import { readIfThere, writeDurably } from "../../durable-file.ts";
import type { NodeContext } from "../../node-context.ts";
import { usedIds } from "../../node-state.ts";
import { isAsynchronous } from "./decide-following.ts";

/** Another one after each renewal: the names of transactions that were lost with the data before are never given again. */
export const markOf = (node: string, recloned: string | undefined): string =>
  createHash("sha256")
    .update(`${node} ${recloned ?? ""}`)
    .digest("hex")
    .slice(0, 16);

/** Of a server that is about to be started: a member's transactions are named after its timeline and itself. */
export async function nameServer({ spec, paths }: NodeContext): Promise<void> {
  const { cluster, node, uid } = spec;
  if (cluster === undefined || !isAsynchronous(cluster)) return;
  const { recloned } = await usedIds(paths);
  const text = `[auto]\nserver-uuid=${serverUuidOf(cluster.group, markOf(node, recloned))}\n`;
  const file = join(paths.data, "auto.cnf");
  if ((await readIfThere(file)) !== text) await writeDurably(file, text, 0o640, uid);
}
