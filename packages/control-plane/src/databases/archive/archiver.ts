/** A member of a cluster, as far as it matters for who keeps the archive. */
export type Candidate = {
  node: string;
  ordinal: number;
  primary: boolean;
  /** How long it has not been well, or its host silent; 0: it is well. */
  unhealthyMs: number;
  /** Its logs do not go on from where the archive ends. */
  unfit: boolean;
};

/** A member that comes back within it keeps what it had: another would begin with a log that is half archived. */
export const PATIENCE_MS = 60_000;

export type Choice =
  | { archiver: string }
  /** No member has what comes after the end of the archive: it can only go on with a gap. */
  | { archiver: string; gap: true }
  | undefined;

/**
 * Which member's logs go to the archive: a secondary's, because the primary has enough to do. Who does it goes on doing it
 * while it can. `firstBorn`: nothing is archived yet of data that one member made and the others took from it, so that
 * one alone has everything since the beginning.
 */
export function chooseArchiver(
  candidates: readonly Candidate[],
  current: string | undefined,
  { freshlyRestored, patienceMs = PATIENCE_MS }: { freshlyRestored: boolean; patienceMs?: number },
): Choice {
  const fit = candidates.filter(({ unfit }) => !unfit);
  if (fit.length === 0) {
    const instead = best(candidates, freshlyRestored);
    return instead && { archiver: instead.node, gap: true };
  }
  const archiver = fit.find(({ node }) => node === current);
  const well = fit.filter(({ unhealthyMs }) => unhealthyMs === 0);
  const isReleased =
    archiver === undefined ||
    (archiver.unhealthyMs > patienceMs && well.length > 0) ||
    (!freshlyRestored && archiver.primary && well.some(({ primary }) => !primary));
  const next = isReleased ? best(fit, freshlyRestored) : archiver;
  return next && { archiver: next.node };
}

function best(candidates: readonly Candidate[], freshlyRestored: boolean): Candidate | undefined {
  const [first] = candidates.toSorted(
    (a, b) =>
      Math.sign(a.unhealthyMs) - Math.sign(b.unhealthyMs) ||
      (freshlyRestored ? a.ordinal - b.ordinal : Number(a.primary) - Number(b.primary) || b.ordinal - a.ordinal),
  );
  return first;
}
