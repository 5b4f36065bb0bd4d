import type { Cluster, NodeSpec } from "@moorage/contract/agent";
import type { MemberView } from "../gatekeeper/views.ts";
import type { UsedIds } from "../node-state.ts";
import type { OwnGroup } from "./group-sql.ts";

export type GroupFacts = {
  own: Pick<OwnGroup, "state" | "readOnly" | "isPatient" | "hasDonor">;
  /** As their hosts told them, with their age. Undefined: nobody can be asked. */
  others: MemberView[] | undefined;
  used: UsedIds;
  /** Its transactions that no member of the group has; empty while there is no group to compare with. */
  errant: string;
};

export type GroupDecision =
  | { kind: "stay" }
  | { kind: "make_primary"; id: string }
  /** It is in: from now on it misses another as soon as the others do. */
  | { kind: "arrive" }
  | { kind: "leave" }
  /** By a server that was started without being closed to writes: a closed one takes nobody's data. */
  | { kind: "restart" }
  | { kind: "reclone"; id: string; donor: string }
  | { kind: "bootstrap"; id: string }
  | { kind: "join"; through: string[] }
  | { kind: "errant"; transactions: string }
  | { kind: "wait"; for: string };

/** A view that was not renewed for this long says nothing any more. */
const reachableWithinMs = 3000;

export const reachableMembers = (others: readonly MemberView[]): MemberView[] =>
  others.filter(({ ageMs }) => ageMs <= reachableWithinMs);

/** Data that were given up for others, which are not there yet, are no past that anybody may begin with. */
export const isBetweenData = ({ recloning, recloned }: UsedIds): boolean =>
  recloning !== undefined && recloning !== recloned;

/**
 * Its data are to come from another member. Also when nobody wants that any more: data that were given up for others
 * which never came are nobody's.
 */
export function dueReclone(
  { cluster }: Pick<NodeSpec, "cluster">,
  used: UsedIds,
): { id: string; donor?: string | undefined } | undefined {
  if (cluster?.reclone !== undefined && cluster.reclone.id !== used.recloned) return cluster.reclone;
  return used.recloning !== undefined && isBetweenData(used) ? { id: used.recloning } : undefined;
}

/** From what is wanted of a member and what is known of its group to the next thing to do: pure. */
export function decideGroup(spec: Pick<NodeSpec, "node" | "cluster">, facts: GroupFacts): GroupDecision {
  const { node, cluster } = spec;
  if (cluster === undefined) return { kind: "stay" };
  const { own, used, errant } = facts;
  const reachable = reachableMembers(facts.others ?? []);
  const group = reachable.filter(({ state }) => state === "online");

  const reclone = dueReclone(spec, used);
  if (reclone !== undefined) {
    const donor = donorOf(group, reclone.donor);
    if (donor === undefined) return { kind: "wait", for: "a member whose data it can take" };
    if (own.state !== "offline") return { kind: "leave" };
    return own.readOnly ? { kind: "restart" } : { kind: "reclone", id: reclone.id, donor };
  }
  if (own.state === "online" && own.isPatient) return { kind: "arrive" };
  if (own.state === "online")
    return cluster.make_primary === undefined || cluster.make_primary === used.made_primary
      ? { kind: "stay" }
      : { kind: "make_primary", id: cluster.make_primary };
  if (own.state === "recovering")
    // Those that are all on their way in wait for each other: out of the group they can tell what they have.
    return own.hasDonor ? { kind: "wait", for: "what the group did meanwhile" } : { kind: "leave" };
  if (own.state === "error") return { kind: "leave" };

  if (group.length > 0) {
    // Whoever died is a member until it is expelled; a join before that takes three times as long.
    if (group.some((view) => countsIn(view, node))) return { kind: "wait", for: "the group to miss it" };
    if (errant !== "") return { kind: "errant", transactions: errant };
    if (wouldSplitGroup({ node, cluster }, group, facts.others ?? []))
      return { kind: "wait", for: "word of a host that it does not hear" };
    return { kind: "join", through: group.map((view) => view.node) };
  }
  if (reachable.some(({ state }) => state === "recovering"))
    return { kind: "wait", for: "another member to come online" };
  if (cluster.bootstrap === undefined) return { kind: "wait", for: "a group, or the permission to begin one" };
  if (cluster.bootstrap === used.bootstrapped) return { kind: "wait", for: "another permission: this one was used" };
  if (facts.others === undefined) return { kind: "wait", for: "the gatekeeper: there may be a group" };
  return { kind: "bootstrap", id: cluster.bootstrap };
}

/** Within it, one that is not heard any more may be expelled, and join again. */
const joinsAgainMs = 20_000;

/**
 * Two members that do not hear each other may both be expelled, so that the third is left alone and takes no writes. Of
 * two such, only the first of the cluster joins, and the other waits until it hears it.
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

/** Who refuses a connection has a host that is there. */
const isReachable = ({ ageMs, kept }: MemberView): boolean => ageMs <= reachableWithinMs || kept === true;

const listedBy = ({ listed, online }: MemberView): string[] => listed ?? online;

const countsIn = (view: MemberView, node: string): boolean => view.primary === node || listedBy(view).includes(node);

/** The wanted one if it can; a secondary rather than the primary, which has tenants to serve. */
export function donorOf(group: readonly MemberView[], preferred: string | undefined): string | undefined {
  const donor =
    group.find(({ node }) => node === preferred) ?? group.find(({ role }) => role === "secondary") ?? group[0];
  return donor?.node;
}
