import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { GroupReport, NodeSpec } from "@moorage/contract/agent";
import { nodeContext, type NodeDeps } from "../node/node-context.ts";
import type { SpecStore } from "../specs/spec-store.ts";
import type { FollowingContext, FollowingDeps } from "./following/following-memory.ts";
import type { ReplicationDeps } from "./member/member-context.ts";
import type { Reporter } from "../gateway/reporter.ts";
import { decideGroup, type GroupDecision } from "./group/decide-group.ts";
import { decideFollowing, type FollowingDecision } from "./following/decide-following.ts";
import { isAsynchronous, ownMember } from "../specs/member.ts";
import { gatherFollowing, observeFollowing } from "./following/gather-following.ts";
import { gatherGroup, observeGroup } from "./group/gather-group.ts";

export type WatchGroupsDeps = NodeDeps &
  Pick<ReplicationDeps, "viewsOf"> &
  FollowingDeps & {
    store: Pick<SpecStore, "all">;
    /** The spec with which the node's last run began; no run by an earlier one is under way. */
    takenSpec: (node: string) => NodeSpec | undefined;
    reporter: Pick<Reporter, "setGroup" | "get">;
    wake: (node: string) => void;
  };

const checkEveryMs = 500;

/**
 * Reports what a group does by itself, and wakes the node that has to act. Only a hint: the reconciler checks every
 * node every few seconds anyway.
 */
export async function watchGroups(deps: WatchGroupsDeps, signal: AbortSignal): Promise<void> {
  const before = new Map<string, GroupDecision | FollowingDecision | undefined>();

  async function checkMember(spec: NodeSpec): Promise<void> {
    const { report, decision } = await observeMember(nodeContext(deps, spec, () => false));
    const { epoch, generation } = spec;
    deps.reporter.setGroup(spec.node, { ...report, seen_by: { epoch, generation } });
    const changed = !isDeepStrictEqual(before.get(spec.node), decision);
    before.set(spec.node, decision);
    const fellOut = deps.reporter.get(spec.node)?.state === "running" && report.state !== "online";
    if (fellOut || (changed && decision !== undefined && decision.kind !== "wait")) deps.wake(spec.node);
  }

  const checking = new Map<string, Promise<void>>();
  while (!signal.aborted) {
    const members = deps.store
      .all()
      .flatMap(({ node }) => deps.takenSpec(node) ?? [])
      .filter(({ cluster, tombstone }) => cluster !== undefined && !tombstone);
    for (const spec of members) {
      // A server that does not answer must not delay the reports about the others.
      if (checking.has(spec.node)) continue;
      const check = checkMember(spec)
        .catch((error: unknown) =>
          deps.log.warn({ node: spec.node, error: String(error) }, "the state of a member could not be read"),
        )
        .finally(() => checking.delete(spec.node));
      checking.set(spec.node, check);
    }
    await sleep(checkEveryMs, undefined, { signal }).catch(() => {});
  }
  await Promise.all(checking.values());
}

type Context = Pick<FollowingContext, "spec" | "paths" | "viewsOf" | "following">;

/** A member takes part when no action is left for it. */
export async function takesPart(context: Context): Promise<boolean> {
  const member = ownMember(context.spec);
  if (member === undefined) return true;
  try {
    if (isAsynchronous(member.cluster))
      return decideFollowing(context.spec, (await gatherFollowing(context)).facts).kind === "stay";
    return decideGroup(context.spec, (await gatherGroup(context)).facts).kind === "stay";
  } catch {
    return false; // unreachable
  }
}

/** Also for a member whose server is unreachable: then there is no decision. */
async function observeMember(
  context: Context,
): Promise<{ report: GroupReport; decision?: GroupDecision | FollowingDecision }> {
  return isAsynchronous(context.spec.cluster) ? observeFollowing(context) : observeGroup(context);
}
