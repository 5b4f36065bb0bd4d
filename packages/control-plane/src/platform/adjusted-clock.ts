import type { Clock } from "./clock.ts";

/** Times of this machine in milliseconds. Somebody may set `wall`; `monotonic` only counts. */
export type TimeSources = { wall: () => number; monotonic: () => number };

/** A server's answer to the question for its time, and the monotonic times at which it was asked and answered. */
export type TimeAnswer = { time: number; asked: number; answered: number };

/** The time of an answer is certain to half of its round trip. */
const LONGEST_ROUND_TRIP_MS = 1_000;

/**
 * The clock of a server. Between its answers only the monotonic time counts, so that setting the machine's own clock
 * changes nothing. Until the first answer it is the machine's own clock.
 */
export function createAdjustedClock({ wall, monotonic }: TimeSources) {
  let used: { offset: number; roundTrip: number } | undefined;
  const now = (): number => (used === undefined ? wall() : used.offset + monotonic());
  const clock: Clock = () => new Date(now());
  return {
    clock,
    /** An answer that took longer than the allowed time is ignored, unless the one in use took as long. */
    adjust({ time, asked, answered }: TimeAnswer): void {
      const roundTrip = answered - asked;
      if (used !== undefined && roundTrip > Math.max(LONGEST_ROUND_TRIP_MS, used.roundTrip)) return;
      used = { offset: time + roundTrip / 2 - answered, roundTrip };
    },
    /** How far the machine's own clock is ahead of the server's; negative: behind. Undefined before the first answer. */
    aheadMs: (): number | undefined => (used === undefined ? undefined : wall() - now()),
  };
}
