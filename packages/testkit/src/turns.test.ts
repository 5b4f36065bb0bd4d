import { afterEach, expect, test, vi } from "vitest";
import { everySecond, inTurn, trials } from "./turns.ts";

afterEach(() => vi.unstubAllEnvs());
const rows = Array.from({ length: 20 }, (_, n) => [`row ${n}`, n, () => n] as const);

test("two consecutive turns have every item once", () => {
  const run = [7, 8].flatMap((turn) => {
    vi.stubEnv("MOORAGE_TURN", String(turn));
    return everySecond(rows, ([name]) => name);
  });

  expect(run.toSorted(([, one], [, other]) => one - other)).toEqual(rows);
});

test.each([
  [2, [6, 8]],
  [2, [7, 9]],
  [3, [6, 8, 10]],
  [3, [7, 9, 11]],
])("a file that runs with every second turn runs each case of %i parts once: turns %j", (parts, turns) => {
  const run = turns.flatMap((turn) => {
    vi.stubEnv("MOORAGE_TURN", String(turn));
    return inTurn(rows, parts);
  });

  expect(run.toSorted(([, one], [, other]) => one - other)).toEqual(rows);
});

test("a case keeps its place in the order", () => {
  vi.stubEnv("MOORAGE_TURN", "4");
  const places = inTurn(rows, 2).map(([, n]) => n);

  expect(places).toHaveLength(10);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
});

test("without a turn every case runs, and every trial", () => {
  vi.stubEnv("MOORAGE_TURN", undefined);

  expect(inTurn(rows, 3)).toEqual(rows);
  expect(trials({ short: 3, all: 12 })).toBe(12);
});

test("with a turn a test has its short form, unless the number of trials is given", () => {
  vi.stubEnv("MOORAGE_TURN", "4");
  expect(trials({ short: 3, all: 12 })).toBe(3);

  vi.stubEnv("MOORAGE_TRIALS", "500");
  expect(trials({ short: 3, all: 12 })).toBe(500);
});
