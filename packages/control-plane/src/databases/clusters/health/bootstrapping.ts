import { countMissing, type GroupReport, type NodeState, parseGtidSet } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import { texts } from "../texts.ts";

/** A member while its group is bootstrapped. */
export type BootstrapMember = {
  node: string;
  ordinal: number;
  /** An operator has declared its host dead. */
  dead: boolean;
  /** Its host is reachable, has applied the current spec, and looked at the member after that. */
  followed: boolean;
  state: NodeState | null;
  report: GroupReport | null;
  /** The permission to bootstrap that it has now. */
  bootstrap: string | undefined;
  /** It has the order to stay out of groups. */
  staysOut: boolean;
};

type BootstrapDecision =
  | { do: "wait" }
  /** `gtid`: the transactions that the member has. */
  | { do: "bootstrap"; node: string; gtid: string }
  /** Withdraw all permissions, and order all members to stay out of groups, before one gets a permission. */
  | { do: "withdraw" }
  /** A member is in a group after all: the others may join it. */
  | { do: "release" }
  | { do: "done" }
  | { do: "fail"; why: Text };

/** Everything that a member has executed or received, as reported while it was in no group. */
type Holder = { node: string; ordinal: number; gtid: string };

/**
 * The members that a bootstrap waits for: after a person has accepted the loss, those whose hosts are not dead. After a
 * suspension two are enough: all members were stopped, so a majority has every acknowledged transaction, and the more
 * advanced of two has what a majority has. Pure.
 */
export function membersToCount(
  members: readonly BootstrapMember[],
  { acceptsLoss, wasSuspended }: { acceptsLoss: boolean; wasSuspended: boolean },
): readonly BootstrapMember[] {
  const alive = members.filter(({ dead }) => !dead);
  return acceptsLoss || (wasSuspended && hasMajority(members)) ? alive : members;
}

/** Of those whose hosts are not dead. */
export const hasMajority = (members: readonly BootstrapMember[]): boolean =>
  2 * members.filter(({ dead }) => !dead).length > members.length;

/**
 * The next step for members of which some are in no group. Two groups of one name would be two databases, so a
 * permission is given only when none is out and every member has reported that it is in no group, while it had the order
 * to stay out: without that order it could have joined one since. Once one member is in a group, the others join it by
 * themselves. `counted`: see `membersToCount`. Pure.
 */
export function nextOfBootstrap(
  members: readonly BootstrapMember[],
  counted: readonly BootstrapMember[],
): BootstrapDecision {
  if (counted.length === 0) return { do: "fail", why: texts.bootstrapNoNodeLeft() };
  if (isBootstrapped(counted)) return { do: "done" };
  if (members.some(({ staysOut }) => staysOut) && members.some(isInGroup)) return { do: "release" };
  if (!counted.every(({ followed }) => followed)) return { do: "wait" };
  const holders = counted.flatMap(({ node, ordinal, report }) =>
    report?.gtid !== undefined && isOutOfGroup(report) ? [{ node, ordinal, gtid: report.gtid }] : [],
  );
  if (holders.length < counted.length) return { do: "wait" };

  const permitted = members.find(({ bootstrap }) => bootstrap !== undefined);
  if (permitted !== undefined)
    return permitted.report?.bootstrapped === permitted.bootstrap ? { do: "withdraw" } : { do: "wait" };
  if (!counted.every(({ staysOut }) => staysOut)) return { do: "withdraw" };
  const first = mostAdvanced(holders);
  if (first === undefined) return { do: "fail", why: texts.bootstrapNodesDiverged() };
  return { do: "bootstrap", node: first.node, gtid: first.gtid };
}

/** With an assigned primary nobody bootstraps: the others follow it by themselves, or another is promoted. */
export const nextOfFollowing = (members: readonly BootstrapMember[]): BootstrapDecision =>
  isBootstrapped(members) ? { do: "done" } : { do: "wait" };

/** A member with errant transactions or unusable data cannot join; it is replaced once the others serve. */
function isBootstrapped(members: readonly BootstrapMember[]): boolean {
  const others = members.filter(({ report }) => report?.errant === undefined && report?.unusable === undefined);
  const isIn = ({ followed, state, report }: BootstrapMember): boolean =>
    followed && state === "running" && report?.state === "online" && (report.shared || members.length === 1);
  return others.length > 0 && others.length >= Math.min(2, members.length) && others.every(isIn);
}

const isInGroup = ({ followed, report }: BootstrapMember): boolean => followed && report?.state === "online";

const isOutOfGroup = ({ state }: GroupReport): boolean => state === "offline" || state === "error";

/** The member that has all transactions of all members. Undefined: each lacks something that another has. */
export function mostAdvanced(members: readonly Holder[]): Holder | undefined {
  const sets = members.map((member) => ({ member, set: parseGtidSet(member.gtid) }));
  return sets
    .filter(({ set }) => sets.every((other) => countMissing(other.set, set) === 0))
    .map(({ member }) => member)
    .toSorted((a, b) => a.ordinal - b.ordinal)[0];
}
