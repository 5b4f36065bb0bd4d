const CENT = 10_000;
const HALF_CENT = 5_000;
const MILLION = 1_000_000;

/** Half a cent goes away from zero. By remainders, so that nothing leaves the whole numbers. */
export function roundToCents(micros: number): number {
  const up = Math.abs(micros) + HALF_CENT;
  return signed(up - (up % CENT), micros);
}

/** Of what may not be passed: the cents that fit into it. */
export const wholeCents = (micros: number): number => micros - (micros % CENT);

/** Parts of a million of an amount in whole cents, rounded as above. */
export function shareOf(micros: number, ppm: number): number {
  const up = (Math.abs(micros) / CENT) * ppm + MILLION / 2;
  return signed(((up - (up % MILLION)) / MILLION) * CENT, micros);
}

/** Zero has no sign: a tax of nothing on a credit is as nothing as any other. */
const signed = (size: number, like: number): number => (like < 0 && size !== 0 ? -size : size);
