import type { NodeContext } from "../node-context.ts";
import { isFollowing } from "./following/decide-following.ts";
import { lookAtFollowing } from "./following/following-sql.ts";
import { lookAtGroup } from "./group-sql.ts";

/** Whether what is written to its server is the database's: of a cluster, its primary alone. */
export async function takesWrites({ spec, paths }: Pick<NodeContext, "spec" | "paths">): Promise<boolean> {
  if (spec.cluster === undefined) return true;
  if (isFollowing(spec.cluster))
    return spec.cluster.leader?.node === spec.node && (await lookAtFollowing(paths.socket)).open;
  const { role, readOnly } = await lookAtGroup(paths.socket);
  return role === "primary" && !readOnly;
}
