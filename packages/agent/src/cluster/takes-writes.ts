import type { NodeContext } from "../node-context.ts";
import { isAsynchronous } from "./following/decide-following.ts";
import { readFollowingState } from "./following/following-sql.ts";
import { readGroupState } from "./group-sql.ts";

/** Whether what is written to its server is the database's: of a cluster, its primary alone. */
export async function takesWrites({ spec, paths }: Pick<NodeContext, "spec" | "paths">): Promise<boolean> {
  if (spec.cluster === undefined) return true;
  if (isAsynchronous(spec.cluster))
    return spec.cluster.primary?.node === spec.node && (await readFollowingState(paths.socket)).open;
  const { role, readOnly } = await readGroupState(paths.socket);
  return role === "primary" && !readOnly;
}
