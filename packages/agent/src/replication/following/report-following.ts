import { type GroupReport, isSharedBy, type NodeSpec, type SavedErrantTransactions } from "@moorage/contract/agent";
import type { ClusterViews } from "../../gatekeeper/gatekeeper-client.ts";
import { viewOf } from "../../gatekeeper/sample-following.ts";
import type { UsedIds } from "../../specs/node-state.ts";
import { isBetweenData, reachableMembers } from "../member/due-reclone.ts";
import { type FollowingDecision, type FollowingFacts, isActingPrimary } from "./decide-following.ts";
import type { OwnFollowing } from "./following-sql.ts";

type Seen = {
  own: Pick<OwnFollowing, "open" | "receiving" | "applying" | "gtid" | "backlogSeconds">;
  views: ClusterViews | undefined;
  facts: Pick<FollowingFacts, "own" | "used">;
};

/** The same report as that of a group member. */
export function placeOf(
  { node, cluster }: Pick<NodeSpec, "node" | "cluster">,
  seen: Seen,
  decision: FollowingDecision,
): GroupReport {
  const { own, views, facts } = seen;
  const nowhere = { online: 0, shared: false };
  if (decision.kind === "unusable") return { state: "error", ...nowhere, unusable: decision.because };
  const primary = cluster?.primary;
  const isPrimary = primary?.node === node;
  const role = isPrimary && own.open ? "primary" : facts.own.source === primary?.node ? "secondary" : undefined;
  const isOff = role === "secondary" && own.receiving === "off" && !own.applying;
  if (cluster === undefined || primary === undefined || role === undefined || isOff || own.open !== isPrimary)
    return { state: "offline", ...nowhere };
  const isOnline = isPrimary || (own.receiving === "on" && own.applying);
  const view = viewOf(cluster.group, primary.term);
  const others = reachableMembers(views?.others ?? []);
  const ofPrimary = isPrimary ? views?.own : others.find((other) => other.node === primary.node);
  return {
    state: isOnline ? "online" : "recovering",
    role,
    view,
    primary: primary.node,
    // The number of replicas that the primary counts.
    online: Math.max(1, ofPrimary?.online.length ?? 0),
    shared: isOnline && isSharedBy({ view, primary: primary.node }, others),
    ...(own.backlogSeconds > 0 && { backlog_seconds: own.backlogSeconds }),
  };
}

/**
 * Its transactions once they do not change any more: a promotion compares them with those of the others. A replica whose
 * connection broke receives more from a primary that still accepts writes.
 */
export function transactionsOf(
  { cluster }: Pick<NodeSpec, "cluster">,
  { own, views, facts }: Seen,
  decision: FollowingDecision,
  saved: SavedErrantTransactions | undefined,
): Pick<GroupReport, "gtid" | "errant" | "saved_errant"> {
  if (own.open || own.receiving === "on" || isBetweenData(facts.used)) return {};
  const primary = cluster?.primary;
  const hasPrimary = reachableMembers(views?.others ?? []).some((view) => primary && isActingPrimary(view, primary));
  if (decision.kind !== "errant") return hasPrimary ? {} : { gtid: own.gtid };
  return { gtid: own.gtid, errant: decision.transactions, ...(saved && { saved_errant: saved }) };
}

/** What its host knows, whether the server is reachable or not. */
export const termsOf = (
  { cluster }: Pick<NodeSpec, "cluster">,
  { fenced, followed = 0, opened }: UsedIds,
): Pick<GroupReport, "term" | "last_term" | "fenced"> => ({
  ...(cluster?.primary && { term: cluster.primary.term }),
  last_term: Math.max(followed, opened?.term ?? 0),
  ...(fenced !== undefined && { fenced }),
});
