import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { NodeSpec } from "@moorage/contract/agent";
import { type NodeDeps, nodeContext } from "../node-context.ts";
import type { Reporter } from "../reporter.ts";
import type { GroupDecision } from "./decide-group.ts";
import type { FollowingDecision } from "./following/decide-following.ts";
import { observeMember } from "./gather-group.ts";

export type WatchGroupsDeps = NodeDeps & {
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
    deps.reporter.setGroup(spec.node, report);
    const changed = !isDeepStrictEqual(before.get(spec.node), decision);
    before.set(spec.node, decision);
    const fellOut = deps.reporter.get(spec.node)?.state === "running" && report.state !== "online";
    if (fellOut || (changed && decision !== undefined && decision.kind !== "wait")) deps.wake(spec.node);
  }

  while (!signal.aborted) {
    const members = deps.store.all().filter(({ cluster, tombstone }) => cluster !== undefined && !tombstone);
    const checks = members.map((spec) =>
      checkMember(spec).catch((error: unknown) =>
        deps.log.warn({ node: spec.node, error: String(error) }, "the state of a member could not be read"),
      ),
    );
    await Promise.all(checks);
    await sleep(checkEveryMs, undefined, { signal }).catch(() => {});
  }
}
