import type { MemberContext } from "../member/member-context.ts";
import type { Still } from "./compare-errant.ts";
import type { FetchProgress } from "./fetch-progress.ts";

/** What the agent remembers of a member between two rounds. A new agent remembers nothing, and waits anew. */
export type FollowingMemory = {
  still?: Still | undefined;
  fetch?: FetchProgress | undefined;
  /** What the member had executed when it could not apply the next transaction, and how often that was retried. */
  failed?: { executed: string; times: number } | undefined;
  /** Since when it may open in a term. */
  mayOpen?: { term: number; since: number };
};

/** Of the node with this name. */
export type FollowingDeps = { following: (node: string) => FollowingMemory };
export type FollowingContext = MemberContext & FollowingDeps;

export function createFollowingMemories(): FollowingDeps["following"] {
  const memories = new Map<string, FollowingMemory>();
  return (node) => memories.getOrInsertComputed(node, () => ({}));
}
