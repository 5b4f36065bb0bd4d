import type { GroupReport } from "@moorage/contract/agent";
import type { ClusterViews } from "../../gatekeeper/gatekeeper-client.ts";
import type { NodePaths } from "../../base/host-paths.ts";
import { serverStart } from "../../mysql/node-sql.ts";
import type { MemberContext } from "../member/member-context.ts";
import { usedIds } from "../../specs/node-state.ts";
import { decideGroup, type GroupDecision, type GroupFacts } from "./decide-group.ts";
import { reachableMembers } from "../member/due-reclone.ts";
import { type OwnGroup, readGroupState, wasGroupStarted } from "./group-sql.ts";
import { gtidSubtract } from "../member/member-sql.ts";
import { placeOf, type ServerStart, transactionsOf, trulyUsed } from "./report-group.ts";

type Context = Pick<MemberContext, "spec" | "paths" | "viewsOf">;

export type ObservedGroup = { own: OwnGroup; views: ClusterViews | undefined; facts: GroupFacts };

export async function gatherGroup({ spec, paths, viewsOf }: Context): Promise<ObservedGroup> {
  const [own, views, recorded] = await Promise.all([readGroupState(paths.socket), viewsOf(spec.node), usedIds(paths)]);
  const isOut = own.state === "offline" && recorded.bootstrapped_by !== undefined;
  const used = isOut ? trulyUsed(recorded, await startOf(paths)) : recorded;
  // A member that is still on an earlier timeline is in another group.
  const others = views?.others.filter(({ group = spec.cluster?.group }) => group === spec.cluster?.group);
  return { own, views, facts: { own, others, used, errant: await errantOf(paths.socket, own, others ?? []) } };
}

const startOf = async ({ socket }: NodePaths): Promise<ServerStart> => ({
  start: await serverStart(socket),
  wasGroupStarted: await wasGroupStarted(socket),
});

/** Compared only while this member is out of the group and others are in it. */
async function errantOf(socket: string, own: OwnGroup, others: ClusterViews["others"]): Promise<string> {
  if (own.state === "online" || own.state === "recovering") return "";
  const group = reachableMembers(others).filter(({ state }) => state === "online");
  const gtids = group.flatMap(({ gtid, received }) => (gtid === undefined ? [] : [gtid, received ?? ""]));
  return gtids.length === 0 ? "" : gtidSubtract(socket, own.gtid, gtids);
}

/** Also for a member whose server is unreachable: then there is no decision. */
export async function observeGroup(context: Context): Promise<{ report: GroupReport; decision?: GroupDecision }> {
  const seen = await gatherGroup(context).catch(() => undefined);
  const { bootstrapped } = seen?.facts.used ?? (await usedIds(context.paths));
  const bootstrapReport = bootstrapped === undefined ? {} : { bootstrapped: bootstrapped };
  if (seen === undefined) return { report: { state: "away", online: 0, shared: false, ...bootstrapReport } };
  const { own, facts } = seen;
  const decision = decideGroup(context.spec, facts);
  const report = { ...placeOf(context.spec, seen), ...transactionsOf(own, facts, decision), ...bootstrapReport };
  return { report, decision };
}
