import type { PrimaryTerm } from "@moorage/contract/agent";

/** The newest that anybody knows. Of one term the first that is named: it is told to the others. */
export const highestTerm = (terms: readonly (PrimaryTerm | undefined)[]): PrimaryTerm | undefined =>
  terms.reduce((highest, primary) => (primary && primary.term > (highest?.term ?? 0) ? primary : highest), undefined);

/** The one that leads, or is to, and then the others by their ordinals. */
export const primaryFirst = <Node extends { id: string; ordinal: number }>(
  nodes: readonly Node[],
  primary: Pick<PrimaryTerm, "node"> | undefined,
): Node[] =>
  nodes.toSorted((a, b) => Number(b.id === primary?.node) - Number(a.id === primary?.node) || a.ordinal - b.ordinal);
