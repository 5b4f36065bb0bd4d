import type { GroupReport, NodeSpec } from "@moorage/contract/agent";
import { diskDecision } from "../../disk/disk-decision.ts";
import { spaceOf } from "../../disk/space-of.ts";
import { viewOf } from "../../gatekeeper/sample-following.ts";
import type { ClusterViews, MemberView } from "../../gatekeeper/views.ts";
import type { NodeContext } from "../../node-context.ts";
import { usedIds } from "../../node-state.ts";
import { areHeard, isBetweenData } from "../decide-group.ts";
import { gtidSubtract } from "../group-sql.ts";
import { decideFollowing, type FollowingDecision, type FollowingFacts } from "./decide-following.ts";
import { lookAtFollowing, type OwnFollowing } from "./following-sql.ts";
import { timesInVain } from "./in-vain.ts";
import { savedTail } from "./save-tail.ts";

type Context = Pick<NodeContext, "spec" | "paths" | "viewsOf">;

export type SeenFollowing = { own: OwnFollowing; views: ClusterViews | undefined; facts: FollowingFacts };

export async function gatherFollowing({ spec, paths, viewsOf }: Context): Promise<SeenFollowing> {
  const own = await lookAtFollowing(paths.socket);
  const asked = performance.now();
  const [views, used] = await Promise.all([viewsOf(spec.node), usedIds(paths)]);
  const { node, cluster } = spec;
  // Who is still on the timeline before has data that are none of its business; its host knows the term all the same.
  const others = views?.others.filter(({ group = cluster?.group }) => group === cluster?.group);
  const terms = areHeard(views?.others ?? []).flatMap(({ term }) => term ?? []);
  const source = cluster?.members.find(({ address }) => address === own.source)?.node;
  const hasRoomAgain = own.open && own.readOnly && (await hasRoom({ spec, paths }));
  const facts: FollowingFacts = {
    own: { ...own, source, hasRoomAgain },
    ...{ others, terms, used },
    errant: await errantOf({ spec, paths }, own, others ?? [], asked),
    inVain: timesInVain(node, own),
  };
  return { own, views, facts };
}

/** By the rule that closed it. */
async function hasRoom({ spec, paths }: Pick<Context, "spec" | "paths">): Promise<boolean> {
  const space = await spaceOf(paths);
  const server = { readOnly: true, groupMember: false };
  return (
    space !== undefined && diskDecision({ planMb: spec.resources.disk_mb, ...space, server }).state !== "read_only"
  );
}

/** By node: what it has, and since when it was seen not to grow. */
const still = new Map<string, { gtid: string; since: number }>();

/** A server sends a transaction a moment before it counts it among those that it has executed. */
const sentBeforeMs = 1000;

/**
 * The leader is asked after this server stopped growing: what it sent a moment ago is not yet in what it said of itself
 * before. What is in the older answer already needs no newer one.
 */
async function errantOf(
  { spec: { node, cluster }, paths }: Pick<Context, "spec" | "paths">,
  own: OwnFollowing,
  others: readonly MemberView[],
  asked: number,
): Promise<string | undefined> {
  const isStill = !own.open && own.receiving === "off" && own.isApplied;
  if (!isStill) still.delete(node);
  else if (still.get(node)?.gtid !== own.gtid) still.set(node, { gtid: own.gtid, since: performance.now() });
  const leader = areHeard(others).find((view) => view.node === cluster?.leader?.node);
  if (leader?.gtid === undefined) return undefined;
  const errant = await gtidSubtract(paths.socket, own.gtid, [leader.gtid]);
  const since = still.get(node)?.since;
  const isNewer = since !== undefined && asked - leader.ageMs > since + sentBeforeMs;
  return errant === "" || isNewer ? errant : undefined;
}

export async function seeFollowing(context: Context): Promise<{ report: GroupReport; decision?: FollowingDecision }> {
  const { fenced } = await usedIds(context.paths);
  const { leader } = context.spec.cluster ?? {};
  const known = { ...(leader && { term: leader.term }), ...(fenced !== undefined && { fenced }) };
  const seen = await gatherFollowing(context).catch(() => undefined);
  if (seen === undefined) return { report: { state: "away", online: 0, shared: false, ...known } };
  const decision = decideFollowing(context.spec, seen.facts);
  const past = await pastOf(context, seen, decision);
  return { report: { ...placeOf(context.spec, seen, decision), ...past, ...known }, decision };
}

/** What a member of a group would say of itself. */
function placeOf({ node, cluster }: NodeSpec, seen: SeenFollowing, decision: FollowingDecision): GroupReport {
  const { own, views, facts } = seen;
  const nowhere = { online: 0, shared: false };
  if (decision.kind === "stray") return { state: "error", ...nowhere, stray: decision.because };
  const leader = cluster?.leader;
  const isLeader = leader?.node === node;
  const role = isLeader && own.open ? "primary" : facts.own.source === leader?.node ? "secondary" : undefined;
  const isOff = role === "secondary" && own.receiving === "off" && !own.applying;
  if (cluster === undefined || leader === undefined || role === undefined || isOff || own.open !== isLeader)
    return { state: "offline", ...nowhere };
  const isOnline = isLeader || (own.receiving === "on" && own.applying);
  const view = viewOf(cluster.group, leader.term);
  const others = areHeard(views?.others ?? []);
  const ofLeader = isLeader ? views?.own : others.find((other) => other.node === leader.node);
  return {
    ...{ state: isOnline ? "online" : "recovering", role, view, primary: leader.node },
    // As the leader counts those that take its transactions.
    online: Math.max(1, ofLeader?.online.length ?? 0),
    shared: isOnline && others.some((other) => other.view === view && other.primary === leader.node),
    ...(own.backlogSeconds > 0 && { backlog_seconds: own.backlogSeconds }),
  };
}

/** What it has, while that does not change: a promotion compares it with what the others have. */
async function pastOf({ paths }: Context, { own, facts }: SeenFollowing, decision: FollowingDecision) {
  if (own.open || own.receiving === "on" || isBetweenData(facts.used)) return {};
  if (decision.kind !== "errant") return { gtid: own.gtid };
  const tail = await savedTail(paths, decision.transactions);
  return { gtid: own.gtid, errant: decision.transactions, ...(tail && { tail }) };
}
