import { type GroupReport, isSharedBy, type NodeSpec } from "@moorage/contract/agent";
import type { ClusterViews } from "../gatekeeper/views.ts";
import type { NodePaths } from "../host-paths.ts";
import { ownMember } from "../member.ts";
import { serverStart } from "../mysql/server-start.ts";
import type { NodeContext } from "../node-context.ts";
import { type UsedIds, usedIds } from "../node-state.ts";
import { reachableMembers, decideGroup, type GroupDecision, type GroupFacts, isBetweenData } from "./decide-group.ts";
import { decideFollowing, type FollowingDecision, isAsynchronous } from "./following/decide-following.ts";
import { gatherFollowing, observeFollowing } from "./following/gather-following.ts";
import { gtidSubtract, readGroupState, type OwnGroup, wasGroupStarted } from "./group-sql.ts";

type Context = Pick<NodeContext, "spec" | "paths" | "viewsOf">;

export type ObservedGroup = { own: OwnGroup; views: ClusterViews | undefined; facts: GroupFacts };

export async function gatherGroup({ spec, paths, viewsOf }: Context): Promise<ObservedGroup> {
  const [own, views, recorded] = await Promise.all([readGroupState(paths.socket), viewsOf(spec.node), usedIds(paths)]);
  const used = own.state === "offline" ? await trulyUsed(paths, recorded) : recorded;
  // A member that is still on an earlier timeline is in another group.
  const others = views?.others.filter(({ group = spec.cluster?.group }) => group === spec.cluster?.group);
  return { own, views, facts: { own, others, used, errant: await errantOf(paths.socket, own, others ?? []) } };
}

/**
 * A bootstrap permission recorded as used may not have been: if the agent died in between, the server that was to
 * bootstrap still runs, and its status shows that it never started a group.
 */
async function trulyUsed({ socket }: NodePaths, used: UsedIds): Promise<UsedIds> {
  if (used.bootstrapped_by === undefined || used.bootstrapped_by !== (await serverStart(socket))) return used;
  if (await wasGroupStarted(socket)) return used;
  const { bootstrapped: _, ...others } = used;
  return others;
}

/** Compared only while this member is out of the group and others are in it. */
async function errantOf(socket: string, own: OwnGroup, others: ClusterViews["others"]): Promise<string> {
  if (own.state === "online" || own.state === "recovering") return "";
  const group = reachableMembers(others).filter(({ state }) => state === "online");
  const gtids = group.flatMap(({ gtid, received }) => (gtid === undefined ? [] : [gtid, received ?? ""]));
  return gtids.length === 0 ? "" : gtidSubtract(socket, own.gtid, gtids);
}

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
export async function observeMember(
  context: Context,
): Promise<{ report: GroupReport; decision?: GroupDecision | FollowingDecision }> {
  return isAsynchronous(context.spec.cluster) ? observeFollowing(context) : observeGroup(context);
}

async function observeGroup(context: Context): Promise<{ report: GroupReport; decision?: GroupDecision }> {
  const seen = await gatherGroup(context).catch(() => undefined);
  const { bootstrapped } = seen?.facts.used ?? (await usedIds(context.paths));
  const bootstrapReport = bootstrapped === undefined ? {} : { bootstrapped: bootstrapped };
  if (seen === undefined) return { report: { state: "away", online: 0, shared: false, ...bootstrapReport } };
  const { own, facts } = seen;
  const decision = decideGroup(context.spec, facts);
  const report = { ...placeOf(context.spec, seen), ...transactionsOf(own, facts, decision), ...bootstrapReport };
  return { report, decision };
}

function placeOf({ cluster }: NodeSpec, { own, views }: ObservedGroup): Omit<GroupReport, "gtid"> {
  const primary = cluster?.members.find(({ address }) => address === own.primary)?.node;
  const shared = isSharedBy({ view: own.view, primary }, views?.others ?? []);
  return {
    state: own.state,
    ...(own.role !== undefined && { role: own.role }),
    ...(own.view !== undefined && { view: own.view }),
    ...(primary !== undefined && { primary }),
    online: own.online.length,
    shared: own.state === "online" && shared,
    ...(own.backlogSeconds > 0 && { backlog_seconds: own.backlogSeconds }),
  };
}

function transactionsOf({ state, gtid }: OwnGroup, { used }: GroupFacts, decision: GroupDecision) {
  if (state === "online" || state === "recovering" || isBetweenData(used)) return {};
  return { gtid, ...(decision.kind === "errant" && { errant: decision.transactions }) };
}
