import { expect, test } from "vitest";
import { ageTrash, type TrashAge } from "./trash-age.ts";

const hour = 3_600_000;
const start = Date.parse("2026-06-01T12:00:00.000Z");
const rules = { keptMs: 72 * hour, perDay: 3 };

/** Looks at the trash every hour, and says in which hour each entry was purged. */
function watch(
  names: readonly string[],
  hours: number,
  {
    isHeld = () => false,
    isUp = () => true,
  }: { isHeld?: (at: number) => boolean; isUp?: (at: number) => boolean } = {},
): Record<string, number> {
  const purgedIn: Record<string, number> = {};
  let age: TrashAge | undefined;
  for (let at = 0; at <= hours; at++) {
    if (!isUp(at)) continue;
    const there = names.filter((name) => purgedIn[name] === undefined);
    const next = ageTrash(age, { names: there, now: new Date(start + at * hour), isHeld: isHeld(at) }, rules);
    for (const name of next.due) purgedIn[name] = at;
    age = next.age;
  }
  return purgedIn;
}

test.each([
  ["an entry is purged when it has aged for the time that it is kept", {}, { a: 72 }],
  ["it does not age while something is held", { isHeld: (at: number) => at > 10 && at <= 30 }, { a: 92 }],
  ["nothing is purged while something is held, however old it is", { isHeld: (at: number) => at >= 72 }, {}],
  ["it ages while the agent is down", { isUp: (at: number) => at < 10 || at > 20 }, { a: 72 }],
  [
    "it does not, if something is held when the agent is back",
    { isUp: (at: number) => at < 10 || at > 20, isHeld: (at: number) => at === 21 },
    { a: 84 },
  ],
])("%s", (_, during, purged) => {
  expect(watch(["a"], 100, during)).toEqual(purged);
});

test("more than the limit of a day wait for the next day", () => {
  expect(watch(["a", "b", "c", "d", "e"], 200)).toEqual({ a: 72, b: 72, c: 72, d: 96, e: 96 });
});

test("what waits for the next day stays while something is held", () => {
  expect(watch(["a", "b", "c", "d"], 120, { isHeld: (at) => at >= 90 && at < 110 })).toEqual({
    a: 72,
    b: 72,
    c: 72,
    d: 110,
  });
});

test("the oldest are purged first", () => {
  const before: TrashAge = {
    at: new Date(start).toISOString(),
    aged_ms: 100 * hour,
    entries: { newest: 28 * hour, newer: 27 * hour, oldest: 0, older: hour },
    purged: [],
  };
  const { due } = ageTrash(
    before,
    { names: Object.keys(before.entries), now: new Date(start), isHeld: false },
    { ...rules, perDay: 3 },
  );
  expect(due).toEqual(["oldest", "older", "newer"]);
});

test("a clock that is set back makes nothing older or younger", () => {
  const now = new Date(start);
  const first = ageTrash(undefined, { names: ["a"], now, isHeld: false }, rules).age;
  const back = ageTrash(first, { names: ["a"], now: new Date(start - hour), isHeld: false }, rules).age;
  expect(back).toMatchObject({ aged_ms: 0, entries: { a: 0 } });
});
