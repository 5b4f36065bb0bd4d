/** The properties of a cluster member that decide which one is the archiver. */
export type Candidate = {
  node: string;
  ordinal: number;
  primary: boolean;
  /** How long the member has been unhealthy or its host silent; 0 while it is healthy. */
  unhealthyMs: number;
  /** The member's logs do not continue from the end of the archive. */
  unfit: boolean;
};

/** A member that comes back within this time stays the archiver: another one would start with a half-archived log. */
export const PATIENCE_MS = 60_000;

export type Choice =
  | { archiver: string }
  /** No member has the logs after the end of the archive: archiving can only continue with a gap. */
  | { archiver: string; gap: true }
  | undefined;

/**
 * The member whose logs are archived: a secondary, to spare the primary. The current archiver stays while it can.
 * `freshlyRestored`: nothing is archived yet of data that one member restored and the others cloned, so only that
 * member has all logs since the start.
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
