import type { NodeContext } from "../node-context.ts";
import { isAsynchronous } from "./following/decide-following.ts";
import { readFollowingState } from "./following/following-sql.ts";
import { readGroupState } from "./group-sql.ts";

/** Whether the server takes the database's writes: true for a single node, and for the primary of a cluster. */
export async function takesWrites({ spec, paths }: Pick<NodeContext, "spec" | "paths">): Promise<boolean> {
  if (spec.cluster === undefined) return true;
  if (isAsynchronous(spec.cluster))
    return spec.cluster.primary?.node === spec.node && (await readFollowingState(paths.socket)).open;
  const { role, readOnly } = await readGroupState(paths.socket);
  return role === "primary" && !readOnly;
}
