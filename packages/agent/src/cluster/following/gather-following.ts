import { type GroupReport, isSharedBy, type MemberView, type NodeSpec } from "@moorage/contract/agent";
import { diskDecision } from "../../disk/disk-decision.ts";
import { spaceOf } from "../../disk/space-of.ts";
import { viewOf } from "../../gatekeeper/sample-following.ts";
import type { ClusterViews } from "../../gatekeeper/views.ts";
import type { NodeContext } from "../../node-context.ts";
import { usedIds } from "../../node-state.ts";
import { reachableMembers, isBetweenData } from "../decide-group.ts";
import { gtidSubtract } from "../group-sql.ts";
import { decideFollowing, type FollowingDecision, type FollowingFacts } from "./decide-following.ts";
import { readFollowingState, type OwnFollowing } from "./following-sql.ts";
import { countFailedAttempts } from "./failed-attempts.ts";
import { findSavedErrant } from "./save-errant.ts";

type Context = Pick<NodeContext, "spec" | "paths" | "viewsOf">;

export type ObservedFollowing = { own: OwnFollowing; views: ClusterViews | undefined; facts: FollowingFacts };

export async function gatherFollowing({ spec, paths, viewsOf }: Context): Promise<ObservedFollowing> {
  const own = await readFollowingState(paths.socket);
  const queriedAt = performance.now();
  const [views, used] = await Promise.all([viewsOf(spec.node), usedIds(paths)]);
  const { node, cluster } = spec;
  // The data of a member on an earlier timeline do not matter here; the term that its host knows does.
  const others = views?.others.filter(({ group = cluster?.group }) => group === cluster?.group);
  const terms = reachableMembers(views?.others ?? []).flatMap(({ term }) => term ?? []);
  const source = cluster?.members.find(({ address }) => address === own.source)?.node;
  const hasRoomAgain = own.open && own.readOnly && (await hasRoom({ spec, paths }));
  const facts: FollowingFacts = {
    own: { ...own, source, hasRoomAgain },
    others,
    terms,
    used,
    errant: await errantOf({ spec, paths }, own, others ?? [], queriedAt),
    failedAttempts: countFailedAttempts(node, own),
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

/** By node: its transactions, and since when they have not grown. */
const still = new Map<string, { gtid: string; since: number }>();

/** A server sends a transaction a moment before it adds it to gtid_executed. */
const sentBeforeMs = 1000;

/**
 * Compares with what the primary reported after this server stopped growing: a transaction that it sent a moment ago is
 * not yet in an older report. If the older report has everything already, no newer one is needed.
 */
async function errantOf(
  { spec: { node, cluster }, paths }: Pick<Context, "spec" | "paths">,
  own: OwnFollowing,
  others: readonly MemberView[],
  queriedAt: number,
): Promise<string | undefined> {
  const isStill = !own.open && own.receiving === "off" && own.isApplied;
  if (!isStill) still.delete(node);
  else if (still.get(node)?.gtid !== own.gtid) still.set(node, { gtid: own.gtid, since: performance.now() });
  const primary = reachableMembers(others).find((view) => view.node === cluster?.primary?.node);
  if (primary?.gtid === undefined) return undefined;
  const errant = await gtidSubtract(paths.socket, own.gtid, [primary.gtid]);
  const since = still.get(node)?.since;
  const isNewer = since !== undefined && queriedAt - primary.ageMs > since + sentBeforeMs;
  return errant === "" || isNewer ? errant : undefined;
}

export async function observeFollowing(
  context: Context,
): Promise<{ report: GroupReport; decision?: FollowingDecision }> {
  const { fenced } = await usedIds(context.paths);
  const { primary } = context.spec.cluster ?? {};
  const known = { ...(primary && { term: primary.term }), ...(fenced !== undefined && { fenced }) };
  const seen = await gatherFollowing(context).catch(() => undefined);
  if (seen === undefined) return { report: { state: "away", online: 0, shared: false, ...known } };
  const decision = decideFollowing(context.spec, seen.facts);
  const transactions = await transactionsOf(context, seen, decision);
  return { report: { ...placeOf(context.spec, seen, decision), ...transactions, ...known }, decision };
}

/** The same report as that of a group member. */
function placeOf({ node, cluster }: NodeSpec, seen: ObservedFollowing, decision: FollowingDecision): GroupReport {
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

/** Its transactions while they do not change: a promotion compares them with those of the others. */
async function transactionsOf({ paths }: Context, { own, facts }: ObservedFollowing, decision: FollowingDecision) {
  if (own.open || own.receiving === "on" || isBetweenData(facts.used)) return {};
  if (decision.kind !== "errant") return { gtid: own.gtid };
  const savedErrant = await findSavedErrant(paths, decision.transactions);
  return { gtid: own.gtid, errant: decision.transactions, ...(savedErrant && { saved_errant: savedErrant }) };
}
