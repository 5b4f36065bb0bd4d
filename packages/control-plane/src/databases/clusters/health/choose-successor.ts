import { countMissing, type GtidSet, parseGtidSet } from "@moorage/contract/agent";
import { isReachable, type ObservedMember } from "./member-condition.ts";

/**
 * Longer than a follower takes to notice that nobody sends it anything, and to say what it has. Counted from the leader's
 * end: over a full link its kernel goes on sending what it had written, and nobody takes writes until then.
 */
const PATIENCE_SECONDS = 10;

/**
 * `wait`: somebody who may have more has not told yet. `again`: nobody else answers, so the same one leads. `restore`: the
 * archive has what none of them has.
 */
export type Successor = { node: string; ordinal: number } | "wait" | "again" | "restore";

/**
 * Who leads in the place of one that takes no more writes: the one that has the most, of those whose hosts are heard. All of
 * them are waited for, but not for ever. `archived`: what the archive of this timeline has. Pure.
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

/** A host that is heard is silent for as long as its poll takes, which says nothing of its server. */
const secondsSinceEnd = (old: ObservedMember | undefined): number =>
  Math.max(old?.unhealthySeconds ?? 0, old === undefined || isReachable(old.host) ? 0 : old.host.silentSeconds);

/** With transactions of its own it would bring back what others were told is lost. */
const isFit = ({ host, state, report, recloning }: ObservedMember): boolean =>
  isReachable(host) &&
  recloning !== true &&
  state !== "failed" &&
  report?.errant === undefined &&
  report?.unusable === undefined;

/** Only while it receives nothing does a member say what it has. */
const reportedGtid = ({ report }: ObservedMember): string | undefined => report?.gtid;

const NOTHING: GtidSet = new Map();
const sizeOf = (set: GtidSet): number => countMissing(set, NOTHING);
