import { countMissing, parseGtidSet } from "@moorage/contract/agent";

/** Everything that a member has executed or received, as it told while it was in no group. */
export type Holder = { node: string; ordinal: number; gtid: string };

/** The member that has everything that any of them has. Undefined: none does, and each has what another lacks. */
export function mostAdvanced(members: readonly Holder[]): Holder | undefined {
  const sets = members.map((member) => ({ member, set: parseGtidSet(member.gtid) }));
  return sets
    .filter(({ set }) => sets.every((other) => countMissing(other.set, set) === 0))
    .map(({ member }) => member)
    .toSorted((a, b) => a.ordinal - b.ordinal)[0];
}
