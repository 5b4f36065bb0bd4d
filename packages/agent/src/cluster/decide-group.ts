import { chooseDonor, type Cluster, isFresh, type MemberView, type NodeSpec } from "@moorage/contract/agent";
import type { UsedIds } from "../node-state.ts";
import type { OwnGroup } from "./group-sql.ts";

export type GroupFacts = {
  own: Pick<OwnGroup, "state" | "readOnly" | "isPatient" | "hasDonor">;
  /** The other members' views as reported by their hosts, with their age. Undefined: the gatekeeper is unreachable. */
  others: MemberView[] | undefined;
  used: UsedIds;
  /** Transactions that no member of the group has; empty while there is no group to compare with. */
  errant: string;
};

export type GroupDecision =
  | { kind: "stay" }
  | { kind: "make_primary"; id: string }
  /** It is online: from now on it expels an unreachable member as soon as the others do. */
  | { kind: "arrive" }
  | { kind: "leave" }
  /** Restarts the server without `super_read_only`: the engine refuses to clone into a server that has it. */
  | { kind: "restart" }
  | { kind: "reclone"; id: string; donor: string }
  | { kind: "bootstrap"; id: string }
  | { kind: "join"; through: string[] }
  | { kind: "errant"; transactions: string }
  | { kind: "wait"; for: string };

/** The members that report now: a kept view is not enough to act on. */
export const reachableMembers = (others: readonly MemberView[]): MemberView[] =>
  others.filter(({ ageMs }) => isFresh({ ageMs }));

/** The old data were given up and the new ones have not arrived: nobody may bootstrap from such a member. */
export const isBetweenData = ({ recloning, recloned }: UsedIds): boolean =>
  recloning !== undefined && recloning !== recloned;

/**
 * The member must be re-cloned. Also when the spec no longer requests it: an interrupted re-clone leaves data that
 * nobody can use.
 */
export function dueReclone(
  { cluster }: Pick<NodeSpec, "cluster">,
  used: UsedIds,
): { id: string; donor?: string | undefined } | undefined {
  if (cluster?.reclone !== undefined && cluster.reclone.id !== used.recloned) return cluster.reclone;
  return used.recloning !== undefined && isBetweenData(used) ? { id: used.recloning } : undefined;
}

/** Compares the desired state of a member with what is known of its group and returns the next action: pure. */
export function decideGroup(spec: Pick<NodeSpec, "node" | "cluster">, facts: GroupFacts): GroupDecision {
  const { node, cluster } = spec;
  if (cluster === undefined) return { kind: "stay" };
  const { own, used, errant } = facts;
  const reachable = reachableMembers(facts.others ?? []);
  const group = reachable.filter(({ state }) => state === "online");

  const reclone = dueReclone(spec, used);
  if (reclone !== undefined) {
    const donor = chooseDonor(group, reclone.donor);
    if (donor === undefined) return { kind: "wait", for: "a member whose data can be cloned" };
    if (own.state !== "offline") return { kind: "leave" };
    return own.readOnly ? { kind: "restart" } : { kind: "reclone", id: reclone.id, donor };
  }
  if (own.state === "online" && own.isPatient) return { kind: "arrive" };
  if (own.state === "online")
    return cluster.make_primary === undefined || cluster.make_primary === used.made_primary
      ? { kind: "stay" }
      : { kind: "make_primary", id: cluster.make_primary };
  if (own.state === "recovering")
    // Members that are all joining wait for each other; out of the group they can report their transactions.
    return own.hasDonor ? { kind: "wait", for: "the transactions that this member missed" } : { kind: "leave" };
  if (own.state === "error") return { kind: "leave" };

  if (group.length > 0) {
    // A crashed member stays in the view until it is expelled; joining before that takes three times as long.
    if (group.some((view) => countsIn(view, node)))
      return { kind: "wait", for: "the group to expel the previous instance of this member" };
    if (errant !== "") return { kind: "errant", transactions: errant };
    if (wouldSplitGroup({ node, cluster }, group, facts.others ?? []))
      return { kind: "wait", for: "a connection to a host that is unreachable" };
    return { kind: "join", through: group.map((view) => view.node) };
  }
  if (reachable.some(({ state }) => state === "recovering"))
    return { kind: "wait", for: "another member to come online" };
  if (cluster.bootstrap === undefined) return { kind: "wait", for: "a group, or the permission to bootstrap one" };
  if (cluster.bootstrap === used.bootstrapped)
    return { kind: "wait", for: "another permission to bootstrap: this one was used" };
  if (facts.others === undefined) return { kind: "wait", for: "the gatekeeper: there may be a group" };
  return { kind: "bootstrap", id: cluster.bootstrap };
}

/** A member that became unreachable within this time may have been expelled, and may rejoin. */
const joinsAgainMs = 20_000;

/**
 * Two members that cannot reach each other may both be expelled, which leaves the third without a majority and without
 * writes. Of two such members only the first of the cluster joins; the other waits until it reaches the first.
 */
function wouldSplitGroup(
  { node, cluster }: { node: string; cluster: Cluster },
  group: readonly MemberView[],
  others: readonly MemberView[],
): boolean {
  const reachable = others.filter(isReachable).map((view) => view.node);
  if (group.flatMap(listedBy).some((each) => !reachable.includes(each))) return true;
  const nodes = cluster.members.map((member) => member.node);
  const earlier = nodes.slice(0, nodes.indexOf(node));
  return others.some((view) => earlier.includes(view.node) && !isReachable(view) && view.ageMs <= joinsAgainMs);
}

/** A host that refuses a connection is up. */
const isReachable = ({ ageMs, kept }: MemberView): boolean => isFresh({ ageMs }) || kept === true;

const listedBy = ({ listed, online }: MemberView): string[] => listed ?? online;

const countsIn = (view: MemberView, node: string): boolean => view.primary === node || listedBy(view).includes(node);
