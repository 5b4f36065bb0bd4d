import { expect, test } from "vitest";
import { sameChange } from "./primary-changes.ts";

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const change = (from: string | null, to: string, second: number, by = "one") => ({
  from_node: from,
  to_node: to,
  at: new Date(at(second)),
  reports: { [by]: { at: at(second) } } as Record<string, { at: string }>,
});
const report = (host: string, from: string | undefined, to: string, second: number) => ({
  host,
  to,
  at: at(second),
  ...(from === undefined ? {} : { from }),
});

const first = change("a", "b", 0);
const back = change("b", "a", 10);

test("a change that a host reports again is known", () => {
  expect(sameChange([first, back], report("one", "a", "b", 0))).toBe(first);
});

test("another host's report is of the same change, however late its proxy followed", () => {
  expect(sameChange([first], report("two", "a", "b", 1))).toBe(first);
  expect(sameChange([first], report("two", "a", "b", 50))).toBe(first);
  expect(sameChange([first, back], report("two", "a", "b", 1))).toBe(first);
});

test("a report without the previous primary is of the same change", () => {
  expect(sameChange([first], report("two", undefined, "b", 1))).toBe(first);
  const unknown = change(null, "b", 0);
  expect(sameChange([unknown], report("two", "a", "b", 1))).toBe(unknown);
});

test("the same switch after another member was primary in between is a new change", () => {
  expect(sameChange([first, back], report("one", "a", "b", 20))).toBeUndefined();
  expect(sameChange([first, back], report("two", "a", "b", 20))).toBeUndefined();
});

test("a switch in the other direction or from another member is another change", () => {
  expect(sameChange([first], report("one", "b", "a", 10))).toBeUndefined();
  expect(sameChange([first], report("two", "c", "b", 1))).toBeUndefined();
});
