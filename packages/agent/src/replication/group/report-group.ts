import { type GroupReport, isSharedBy, type NodeSpec } from "@moorage/contract/agent";
import type { ClusterViews } from "../../gatekeeper/gatekeeper-client.ts";
import type { UsedIds } from "../../specs/node-state.ts";
import { isBetweenData } from "../member/due-reclone.ts";
import type { GroupDecision, GroupFacts } from "./decide-group.ts";
import type { OwnGroup } from "./group-sql.ts";

export type ServerStart = { start: string; wasGroupStarted: boolean };

/**
 * A bootstrap permission recorded as used may not have been: if the agent died in between, the server that was to
 * bootstrap still runs, and its status shows that it never started a group.
 */
export function trulyUsed(used: UsedIds, { start, wasGroupStarted }: ServerStart): UsedIds {
  if (used.bootstrapped_by !== start || wasGroupStarted) return used;
  const { bootstrapped: _, ...others } = used;
  return others;
}

/** Where it is. */
export function placeOf(
  { cluster }: Pick<NodeSpec, "cluster">,
  {
    own,
    views,
  }: { own: Omit<OwnGroup, "readOnly" | "isPatient" | "hasDonor" | "gtid">; views: ClusterViews | undefined },
): Omit<GroupReport, "gtid"> {
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

/** What it has, while it is in no group and has the data of one. */
export function transactionsOf(
  { state, gtid }: Pick<OwnGroup, "state" | "gtid">,
  { used }: Pick<GroupFacts, "used">,
  decision: GroupDecision,
): Pick<GroupReport, "gtid" | "errant"> {
  if (state === "online" || state === "recovering" || isBetweenData(used)) return {};
  return { gtid, ...(decision.kind === "errant" && { errant: decision.transactions }) };
}
