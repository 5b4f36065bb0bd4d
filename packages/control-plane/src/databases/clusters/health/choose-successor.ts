import { countMissing, type GtidSet, parseGtidSet } from "@moorage/contract/agent";
import { isReachable, type ObservedMember } from "./member-condition.ts";

/**
 * Longer than a replica takes to notice that it receives nothing and to report its GTID set. Counted from the primary's
 * end: over a full link its kernel still sends what it had buffered, and nobody accepts writes until then.
 */
const PATIENCE_SECONDS = 10;

/**
 * `wait`: a member that may have more has not reported yet. `again`: no other member answers, so the same one stays
 * primary. `restore`: the archive has transactions that no member has.
 */
export type Successor = { node: string; ordinal: number } | "wait" | "again" | "restore";

/**
 * The successor of a primary that accepts no more writes: the reachable member with the most transactions. Waits for
 * the reports of all of them, for at most `PATIENCE_SECONDS`. `archived`: the GTID set of the timeline's archive. Pure.
 */
export function chooseSuccessor(members: readonly ObservedMember[], primary: string, archived: string): Successor {
  const followers = members.filter((member) => member.node !== primary && isFit(member));
  const endedSeconds = secondsSinceEnd(members.find(({ node }) => node === primary));
  if (endedSeconds < PATIENCE_SECONDS && followers.some((member) => reportedGtid(member) === undefined)) return "wait";
  const [first] = followers
    .flatMap((member) => {
      const gtid = reportedGtid(member);
      return gtid === undefined ? [] : [{ member, set: parseGtidSet(gtid) }];
    })
    .toSorted((a, b) => sizeOf(b.set) - sizeOf(a.set) || a.member.ordinal - b.member.ordinal);
  if (first === undefined) return "again";
  if (countMissing(parseGtidSet(archived), first.set) > 0) return "restore";
  return { node: first.member.node, ordinal: first.member.ordinal };
}

/** A reachable host sends nothing for as long as its poll takes; that does not mean that its server is down. */
const secondsSinceEnd = (old: ObservedMember | undefined): number =>
  Math.max(old?.unhealthySeconds ?? 0, old === undefined || isReachable(old.host) ? 0 : old.host.silentSeconds);

/** A member with errant transactions would bring back what tenants know to be lost. */
const isFit = ({ host, state, report, recloning }: ObservedMember): boolean =>
  isReachable(host) &&
  recloning !== true &&
  state !== "failed" &&
  report?.errant === undefined &&
  report?.unusable === undefined;

/** A member reports its GTID set only while it receives nothing. */
const reportedGtid = ({ report }: ObservedMember): string | undefined => report?.gtid;

const NOTHING: GtidSet = new Map();
const sizeOf = (set: GtidSet): number => countMissing(set, NOTHING);
