/** Doubles from one second. The first retry of something that worked before has no delay. */
export const stepDelayMs = (attempt: number): number =>
  attempt <= 0 ? 0 : Math.min(1000 * 2 ** (attempt - 1), 30_000);

/** Jittered, so that a fleet does not overload a gateway that has just returned. */
export const networkDelayMs = (attempt: number, random: () => number = Math.random): number =>
  Math.round(Math.min(250 * 2 ** Math.min(attempt, 10), 10_000) * (0.5 + random() / 2));
