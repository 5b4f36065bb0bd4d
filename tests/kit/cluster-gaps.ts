/** Time without an accepted write. Times are of one clock, in milliseconds. */
export type Gap = { from: number; to: number };

const lengthOf = ({ from, to }: Gap): number => to - from;

/** Every interval between two accepted writes that is longer than `least` and ends after `since`. */
export function gaps(accepted: readonly number[], since: number, least: number): Gap[] {
  const sorted = [...accepted].sort((one, other) => one - other);
  return sorted
    .slice(1)
    .map((to, index) => ({ from: sorted[index] as number, to }))
    .filter((gap) => gap.to > since && lengthOf(gap) > least);
}

/**
 * From a fault to the next accepted write. Writes in flight are acknowledged for a moment after a fault: the longest
 * gap that ends after the fault is the outage.
 */
export function timeToRecover(accepted: readonly number[], fault: number): number {
  const longest = longestOf(gaps(accepted, fault, 0));
  return longest === undefined ? Number.POSITIVE_INFINITY : longest.to - fault;
}

export const longestGap = (accepted: readonly number[], since: number): number => {
  const longest = longestOf(gaps(accepted, since, 0));
  return longest === undefined ? Number.POSITIVE_INFINITY : lengthOf(longest);
};

/** Shorter intervals are the usual time between two writes. */
const ORDINARY_MS = 500;
export const totalGap = (accepted: readonly number[], since: number): number =>
  gaps(accepted, since, ORDINARY_MS).reduce((sum, gap) => sum + lengthOf(gap), 0);

/** When they happened, for whoever has to find out why. */
export const formatGaps = (accepted: readonly number[], since: number): string =>
  gaps(accepted, since, ORDINARY_MS)
    .map((gap) => `${seconds(lengthOf(gap))} at ${seconds(gap.from - since)}`)
    .join(", ");

const longestOf = (found: readonly Gap[]): Gap | undefined => found.toSorted((a, b) => lengthOf(b) - lengthOf(a))[0];

/** Nearest-rank method. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
