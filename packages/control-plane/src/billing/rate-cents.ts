const CENT = 10_000;
const HALF_CENT = 5_000;
const MILLION = 1_000_000;

/** Rounds half a cent away from zero. Uses remainders, so that the arithmetic stays in integers. */
export function roundToCents(micros: number): number {
  const up = Math.abs(micros) + HALF_CENT;
  return signed(up - (up % CENT), micros);
}

/** Rounds down to whole cents, for an amount that must not be exceeded. */
export const wholeCents = (micros: number): number => micros - (micros % CENT);

/** `ppm` millionths of an amount, rounded to cents as above. */
export function shareOf(micros: number, ppm: number): number {
  const up = (Math.abs(micros) / CENT) * ppm + MILLION / 2;
  return signed(((up - (up % MILLION)) / MILLION) * CENT, micros);
}

/** Avoids -0: a zero tax on a credit equals any other zero. */
const signed = (size: number, like: number): number => (like < 0 && size !== 0 ? -size : size);
