import { createHmac } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { readIfThere, writeDurably } from "../durable-file.ts";
import type { NodeContext } from "../node-context.ts";
import { isAsynchronous } from "./following/decide-following.ts";

/**
 * Of the members' account. Another one on every timeline of an asynchronous cluster: whoever is on an earlier one can
 * never take a server of a later one for its source. A group knows its members by its name.
 */
export async function membersPassword(context: NodeContext): Promise<string> {
  const [password, { cluster }] = [await groupPassword(context), context.spec];
  if (cluster === undefined || !isAsynchronous(cluster)) return password;
  return createHmac("sha256", password).update(cluster.group).digest("hex").slice(0, longestPassword);
}

/** Of one that a replica gives its source: the server cuts what is longer, and says nothing. */
const longestPassword = 32;

/** Asked of the gateway once: a host that boots without a control plane must be able to rejoin. */
async function groupPassword({ paths, spec, groupPassword: requestPassword }: NodeContext): Promise<string> {
  const kept = await readIfThere(paths.groupPassword);
  if (kept !== undefined && kept !== "") return kept;
  const password = await requestPassword(spec.node);
  await mkdir(paths.folder, { recursive: true });
  await writeDurably(paths.groupPassword, password);
  return password;
}
