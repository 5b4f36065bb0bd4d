import type { Leader } from "@moorage/contract/agent";

/** The newest that anybody knows. Of one term the first that is named: it is told to the others. */
export const highestTerm = (leaders: readonly (Leader | undefined)[]): Leader | undefined =>
  leaders.reduce((highest, leader) => (leader && leader.term > (highest?.term ?? 0) ? leader : highest), undefined);

/** The one that leads, or is to, and then the others by their ordinals. */
export const leaderFirst = <Node extends { id: string; ordinal: number }>(
  nodes: readonly Node[],
  leader: Pick<Leader, "node"> | undefined,
): Node[] =>
  nodes.toSorted((a, b) => Number(b.id === leader?.node) - Number(a.id === leader?.node) || a.ordinal - b.ordinal);
