import type { PrimaryTerm } from "@moorage/contract/agent";

/** The newest term that anybody knows. Of equal terms the first in the list counts, and is sent to the others. */
export const highestTerm = (terms: readonly (PrimaryTerm | undefined)[]): PrimaryTerm | undefined =>
  terms.reduce((highest, primary) => (primary && primary.term > (highest?.term ?? 0) ? primary : highest), undefined);

/** The current or future primary, then the others by their ordinals. */
export const primaryFirst = <Node extends { id: string; ordinal: number }>(
  nodes: readonly Node[],
  primary: Pick<PrimaryTerm, "node"> | undefined,
): Node[] =>
  nodes.toSorted((a, b) => Number(b.id === primary?.node) - Number(a.id === primary?.node) || a.ordinal - b.ordinal);
