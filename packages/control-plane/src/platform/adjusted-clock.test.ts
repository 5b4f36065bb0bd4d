import { expect, test } from "vitest";
import { createAdjustedClock } from "./adjusted-clock.ts";

const SERVER = Date.parse("2026-11-15T12:00:00Z");

/** A machine whose own clock is 31 s ahead of the server's. */
function machine() {
  const at = { wall: SERVER + 31_000, monotonic: 5_000 };
  const adjusted = createAdjustedClock({ wall: () => at.wall, monotonic: () => at.monotonic });
  return {
    ...adjusted,
    at,
    pass(ms: number): void {
      at.wall += ms;
      at.monotonic += ms;
    },
    /** The time that the server reports, and how long the question and the answer were on their way. */
    answer: (time: number, there: number, back: number): void =>
      adjusted.adjust({ time, asked: at.monotonic - there - back, answered: at.monotonic }),
    /** Milliseconds since the server's noon. */
    shown: (): number => adjusted.clock().getTime() - SERVER,
  };
}

test("until the first answer the machine's own clock counts", () => {
  const { shown, aheadMs } = machine();
  expect([shown(), aheadMs()]).toEqual([31_000, undefined]);
});

test("half of the round trip is added to the server's time, which then advances with the monotonic time", () => {
  const { answer, pass, shown, aheadMs } = machine();
  answer(SERVER, 20, 20);
  expect([shown(), aheadMs()]).toEqual([20, 30_980]);
  pass(7_000);
  expect([shown(), aheadMs()]).toEqual([7_020, 30_980]);
});

test("a jump of the machine's own clock changes only the difference", () => {
  const { answer, at, pass, shown, aheadMs } = machine();
  answer(SERVER, 0, 0);
  pass(1_000);
  at.wall -= 3_600_000;
  expect([shown(), aheadMs()]).toEqual([1_000, 31_000 - 3_600_000]);
});

test("each answer replaces the one before, in both directions", () => {
  const { answer, shown } = machine();
  answer(SERVER, 0, 0);
  answer(SERVER + 500, 0, 0);
  expect(shown()).toBe(500);
  answer(SERVER - 200, 0, 0);
  expect(shown()).toBe(-200);
});

test("an answer that took more than a second is ignored, unless the one in use took as long", () => {
  const { answer, shown } = machine();
  answer(SERVER, 0, 8_000);
  expect(shown()).toBe(4_000);
  answer(SERVER, 0, 9_000);
  expect(shown()).toBe(4_000);
  answer(SERVER, 0, 6_000);
  expect(shown()).toBe(3_000);
  answer(SERVER, 500, 500);
  expect(shown()).toBe(500);
  answer(SERVER, 0, 1_001);
  expect(shown()).toBe(500);
});
