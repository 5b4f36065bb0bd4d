import {
  chooseDonor,
  countMissing,
  type MemberView,
  type NodeSpec,
  parseGtidSet,
  type PrimaryTerm,
} from "@moorage/contract/agent";
import type { UsedIds } from "../../specs/node-state.ts";
import { dueReclone, reachableMembers } from "../member/due-reclone.ts";

export type FollowingFacts = {
  own: {
    /** `super_read_only` is off. */
    open: boolean;
    /** Closed to tenants because the disk was full; it has room again. */
    hasRoomAgain: boolean;
    /** The member that is configured as its source. */
    source: string | undefined;
    receiving: "on" | "connecting" | "off";
    applying: boolean;
    /** Everything that was executed or received. */
    gtid: string;
    /** Everything that was received is executed. */
    isApplied: boolean;
    /** The source no longer has the binary logs that it needs. */
    isPurged: boolean;
  };
  /** Views of members on the same timeline, as reported by their hosts, with their age. Undefined: no gatekeeper. */
  others: MemberView[] | undefined;
  /** Terms that other hosts know, on whatever timeline they are. */
  terms: readonly number[];
  used: UsedIds;
  /** Transactions that the primary does not have; undefined until they can be compared. */
  errant: string | undefined;
  /** For how long it could have fetched transactions of `memberAhead`, and received none. */
  stalledMs: number;
  /** How often it restarted replication without progress because a transaction could not be applied. */
  failedAttempts: number;
};

export type FollowingDecision =
  | { kind: "stay" }
  /** Stops replication. */
  | { kind: "leave" }
  | { kind: "restart" }
  | { kind: "reclone"; id: string; donor: string }
  | { kind: "close" }
  | { kind: "open"; term: number; afterMs: number }
  /** Stops receiving and applies what was received, so that its transactions can be compared. */
  | { kind: "settle" }
  | { kind: "follow"; source: string }
  | { kind: "errant"; transactions: string }
  | { kind: "unusable"; because: string }
  /** `soon`: other members are about to make it possible. */
  | { kind: "wait"; for: string; soon?: true };

/**
 * By then the proxies of an old primary that may still be alive have noticed that its replicas are gone: longer than a
 * gatekeeper believes a view, and longer than a proxy believes a gatekeeper. A test compares the numbers.
 */
export const afterForcedMs = 6000;

const maxFailedAttempts = 3;

/** A member that is ahead and sends nothing for this long is not waited for. */
const maxStalledMs = 30_000;

/**
 * Compares the desired state of a member of an asynchronous cluster with what is known of the others and returns the
 * next action: pure. Only the primary of the newest term is ever opened.
 */
export function decideFollowing(spec: Pick<NodeSpec, "node" | "cluster">, facts: FollowingFacts): FollowingDecision {
  const { own, used } = facts;
  const reachable = reachableMembers(facts.others ?? []);

  const reclone = dueReclone(spec, used);
  if (reclone !== undefined) {
    const online = reachable.filter(({ state }) => state === "online");
    const donor = chooseDonor(online, reclone.donor);
    if (donor === undefined) return { kind: "wait", for: "a member whose data can be cloned" };
    if (own.receiving !== "off" || own.applying) return { kind: "leave" };
    return own.open ? { kind: "reclone", id: reclone.id, donor } : { kind: "restart" };
  }

  const primary = spec.cluster?.primary;
  const newest = Math.max(0, ...facts.terms, used.opened?.term ?? 0);
  if (primary === undefined || newest > primary.term)
    return own.open ? { kind: "close" } : { kind: "wait", for: "the spec of the newer term that other hosts know" };
  return primary.node === spec.node
    ? decidePrimary(primary, reachable, facts)
    : decideFollower(primary, reachable, facts);
}

/** For the member that should be the primary. */
function decidePrimary(
  primary: PrimaryTerm,
  reachable: readonly MemberView[],
  facts: FollowingFacts,
): FollowingDecision {
  const { own, used, others, terms } = facts;
  const { reason, term } = primary;
  const isFenced = (used.fenced ?? 0) >= term;
  const wasOpen = used.opened?.term === term;
  // Open since an earlier term: another member may have been primary in between, so it is closed and opened again.
  if (own.open && (isFenced || !wasOpen)) return { kind: "close" };
  if (isFenced) return { kind: "wait", for: "a newer term: the server ended in this one" };
  if (own.open) {
    const isRecorded = used.opened?.boot !== undefined;
    return isRecorded && !own.hasRoomAgain ? { kind: "stay" } : { kind: "open", term, afterMs: 0 };
  }
  if (others === undefined) return { kind: "wait", for: "the gatekeeper: there may be a newer term" };
  if (reason !== "sole_survivor" && !terms.includes(term))
    return { kind: "wait", for: "another host that knows the term", soon: true };
  const before = wasOpen ? undefined : decideBeforeOpening(primary, reachable, facts);
  return before ?? { kind: "open", term, afterMs: reason === "forced" && !wasOpen ? afterForcedMs : 0 };
}

/** What is left to do before it is opened for the first time in its term; undefined: nothing. */
function decideBeforeOpening(
  primary: PrimaryTerm,
  reachable: readonly MemberView[],
  facts: FollowingFacts,
): FollowingDecision | undefined {
  const { own, stalledMs } = facts;
  if (primary.reason === "handover") return decideHandover(primary, reachable, own);
  const ahead = memberAhead(primary, reachable, own);
  if (ahead === undefined || stalledMs >= maxStalledMs) return undefined;
  if (own.source === ahead && own.receiving !== "off")
    return { kind: "wait", for: "the transactions of a member that is ahead", soon: true };
  return { kind: "follow", source: ahead };
}

/**
 * A member from which the future primary can fetch transactions: its host knows the term, so it takes no more writes,
 * and it has all that this member has, and more. Without them acknowledged writes would be lost that a reachable member
 * still has.
 */
export function memberAhead(
  { node, term }: PrimaryTerm,
  reachable: readonly MemberView[],
  own: Pick<FollowingFacts["own"], "gtid">,
): string | undefined {
  const had = parseGtidSet(own.gtid);
  const [most] = reachable
    .filter((view) => view.node !== node && view.term === term && view.state !== "away" && !view.writable)
    .map(({ node: other, gtid = "", received = "" }) => ({ other, has: parseGtidSet(`${gtid},${received}`) }))
    .map(({ other, has }) => ({ other, more: countMissing(has, had), less: countMissing(had, has) }))
    .filter(({ more, less }) => more > 0 && less === 0)
    .toSorted((a, b) => b.more - a.more);
  return most?.other;
}

/** What is left to do before all transactions are taken over from the old primary; undefined: nothing. */
function decideHandover(
  { from, term }: PrimaryTerm,
  reachable: readonly MemberView[],
  own: FollowingFacts["own"],
): FollowingDecision | undefined {
  const giver = reachable.find(({ node }) => node === from);
  const isClosed = giver !== undefined && giver.term === term && giver.state !== "away" && !giver.writable;
  if (from === undefined || !isClosed || giver.gtid === undefined)
    return { kind: "wait", for: "the former primary to become read-only", soon: true };
  const [given, had] = [parseGtidSet(giver.gtid), parseGtidSet(own.gtid)];
  if (countMissing(given, had) === 0) return undefined;
  if (own.source === from && own.receiving !== "off")
    return { kind: "wait", for: "the last transactions of the former primary", soon: true };
  // Changing the source discards what was received from another one and not applied.
  if (countMissing(had, given) > 0)
    return { kind: "wait", for: "the former primary: each has transactions that the other lacks" };
  return { kind: "follow", source: from };
}

/** For all other members. */
function decideFollower(
  primary: PrimaryTerm,
  reachable: readonly MemberView[],
  facts: FollowingFacts,
): FollowingDecision {
  const { own, used, errant, failedAttempts } = facts;
  if (own.open) return { kind: "close" };
  // The same source in a later term may have other data: another member was primary in between.
  const isFollowing = own.source === primary.node && own.applying && used.followed === primary.term;
  const hasEnded = reachable.some(({ node, state }) => node === primary.node && state === "away");
  // Stop receiving now: what the kernel of the primary's host still sends would arrive after a promotion compared.
  if (hasEnded && own.source === primary.node && own.receiving !== "off") return { kind: "settle" };
  if (isFollowing && own.receiving === "on") return { kind: "stay" };
  if (own.source === primary.node && own.isPurged)
    return { kind: "unusable", because: "the primary has purged binary logs that this member needs" };
  // Until then it keeps its source: the next primary may need those transactions, or be this member.
  if (!reachable.some((view) => isActingPrimary(view, primary)))
    return { kind: "wait", for: "the primary to accept writes", soon: true };
  if (isFollowing && own.receiving === "connecting")
    return { kind: "wait", for: "the primary to accept the connection", soon: true };
  if (errant === undefined) {
    const isStill = own.receiving === "off" && own.isApplied;
    return isStill ? { kind: "wait", for: "the current GTID set of the primary", soon: true } : { kind: "settle" };
  }
  if (errant !== "") return { kind: "errant", transactions: errant };
  if (failedAttempts >= maxFailedAttempts)
    return { kind: "unusable", because: "a transaction of the primary cannot be applied to the data of this member" };
  return { kind: "follow", source: primary.node };
}

export const isActingPrimary = ({ node, role, writable, term }: MemberView, primary: PrimaryTerm): boolean =>
  node === primary.node && role === "primary" && writable && term === primary.term;
