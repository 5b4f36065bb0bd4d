/** The same seed makes the same choices. */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  /** Mulberry32: small, and good enough for choices. */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    chance: (share: number): boolean => next() < share,
    /** A whole number from 0, less than this. */
    below: (most: number): number => Math.floor(next() * most),
    oneOf: <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)] as T,
  };
}
export type Random = ReturnType<typeof createRandom>;
