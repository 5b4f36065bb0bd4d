import { countMissing, parseGtidSet } from "@moorage/contract/agent";

/** Everything that a member has executed or received, as reported while it was in no group. */
export type Holder = { node: string; ordinal: number; gtid: string };

/** The member that has all transactions of all members. Undefined: each lacks something that another has. */
export function mostAdvanced(members: readonly Holder[]): Holder | undefined {
  const sets = members.map((member) => ({ member, set: parseGtidSet(member.gtid) }));
  return sets
    .filter(({ set }) => sets.every((other) => countMissing(other.set, set) === 0))
    .map(({ member }) => member)
    .toSorted((a, b) => a.ordinal - b.ordinal)[0];
}
