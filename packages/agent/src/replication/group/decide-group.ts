import { chooseDonor, isHostUp, listedIn, type MemberView, type NodeSpec } from "@moorage/contract/agent";
import type { UsedIds } from "../../specs/node-state.ts";
import { dueReclone, reachableMembers } from "../member/due-reclone.ts";
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

/** Compares the desired state of a member with what is known of its group and returns the next action: pure. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a decision table, one line for each case.
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

  if (cluster.stay_out === true)
    return {
      kind: "wait",
      for: "the end of the order to stay out of groups, which all members get before a bootstrap",
    };
  if (group.length > 0) {
    // A crashed member stays in the view until it is expelled; joining before that takes three times as long.
    if (group.some((view) => countsIn(view, node)))
      return { kind: "wait", for: "the group to expel the previous instance of this member" };
    if (errant !== "") return { kind: "errant", transactions: errant };
    if (!reachesAll(group, facts.others ?? []))
      return { kind: "wait", for: "a connection to a host that is unreachable" };
    // Two that join at once and do not reach each other could both be expelled, and the group lose its majority.
    if (!group.every(({ invites }) => invites === node))
      return { kind: "wait", for: "its turn: the group lets one member join at a time" };
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

/** The engine expels a member that does not reach another one. */
function reachesAll(group: readonly MemberView[], others: readonly MemberView[]): boolean {
  const reachable = others.filter(isHostUp).map((view) => view.node);
  return group.flatMap(listedIn).every((each) => reachable.includes(each));
}

const countsIn = (view: MemberView, node: string): boolean => view.primary === node || listedIn(view).includes(node);
