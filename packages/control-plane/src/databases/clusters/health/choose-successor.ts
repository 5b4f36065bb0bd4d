import { countMissing, type GtidSet, parseGtidSet, uniteGtidSets } from "@moorage/contract/agent";
import { isReachable, isSeen, type ObservedMember } from "../member-condition.ts";

/**
 * Longer than a replica takes to notice that it receives nothing and to report its GTID set. Counted from the primary's
 * end: over a full link its kernel still sends what it had buffered, and nobody accepts writes until then.
 */
const PATIENCE_SECONDS = 10;
/** A host polls every ten seconds. One that missed its poll may have a member that has received more since its report. */
const POLLED_SECONDS = 12;
const NOTHING: GtidSet = new Map();

/**
 * `lacks`: transactions that other members of the same term have. `lastTerm`: the last term in which it had the
 * primary's transactions; 0: unknown.
 */
type Chosen = { node: string; ordinal: number; lacks: number; lastTerm: number };

/**
 * `wait`: a member that may have more has not reported yet. `again`: no other member answers, so the same one stays
 * primary. `restore`: the archive has transactions that no member has.
 */
export type Successor = Chosen | "wait" | "again" | "restore";

/**
 * The successor of a primary that accepts no more writes: of the reachable members of the newest term, the one with the
 * most transactions. A former primary may have more than a replica of its successor, and lack what was acknowledged
 * since. Waits for the reports of all members, for at most `PATIENCE_SECONDS`. `archived`: the GTID set of the
 * timeline's archive. Pure.
 */
export function chooseSuccessor(members: readonly ObservedMember[], primary: string, archived: string): Successor {
  const followers = members.filter((member) => member.node !== primary && isFit(member));
  // After our own outage nothing is certain until the hosts have polled, or are given up.
  if (followers.some(({ host }) => !isSeen(host))) return "wait";
  const endedSeconds = secondsSinceEnd(members.find(({ node }) => node === primary));
  if (endedSeconds < PATIENCE_SECONDS && followers.some((member) => !hasReported(member))) return "wait";
  const known = followers.flatMap((member) => {
    const gtid = reportedGtid(member);
    return gtid === undefined ? [] : [{ member, set: parseGtidSet(gtid) }];
  });
  const newest = Math.max(...known.map(({ member }) => lastTerm(member, followers)));
  const ofTerm = known.filter(({ member }) => lastTerm(member, followers) === newest);
  const [first] = ofTerm.toSorted((a, b) => sizeOf(b.set) - sizeOf(a.set) || a.member.ordinal - b.member.ordinal);
  if (first === undefined) return "again";
  if (countMissing(parseGtidSet(archived), first.set) > 0) return "restore";
  const lacks = countMissing(uniteGtidSets(...ofTerm.map(({ set }) => set)), first.set);
  return { node: first.member.node, ordinal: first.member.ordinal, lacks, lastTerm: newest };
}

/** Agents of earlier versions do not report it. While one of them is among the members, it says nothing. */
const lastTerm = ({ report }: ObservedMember, all: readonly ObservedMember[]): number =>
  all.every((member) => member.report === null || member.report.last_term !== undefined) ? (report?.last_term ?? 0) : 0;

/** A member with errant transactions would bring back what tenants know to be lost. */
const isFit = ({ host, state, report, recloning }: ObservedMember): boolean =>
  isReachable(host) &&
  recloning !== true &&
  state !== "failed" &&
  report?.errant === undefined &&
  report?.unusable === undefined;

/** A reachable host sends nothing for as long as its poll takes; that does not mean that its server is down. */
const secondsSinceEnd = (old: ObservedMember | undefined): number =>
  Math.max(old?.unhealthySeconds ?? 0, old === undefined || isReachable(old.host) ? 0 : old.host.silentSeconds);

const hasReported = (member: ObservedMember): boolean =>
  reportedGtid(member) !== undefined && member.host.unseenSeconds <= POLLED_SECONDS;

/** A member reports its GTID set only while it receives nothing. */
const reportedGtid = ({ report }: ObservedMember): string | undefined => report?.gtid;

const sizeOf = (set: GtidSet): number => countMissing(set, NOTHING);
