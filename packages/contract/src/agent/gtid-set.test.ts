import fc from "fast-check";
import { expect, test } from "vitest";
import { countMissing, formatGtidSet, gtidsOfGroup, parseGtidSet, uniteGtidSets } from "./gtid-set.ts";

const A = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const B = "7c2a1d0e-0000-4000-8000-000000000001";

const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 30 });
const text = (all: readonly number[]) => (all.length === 0 ? "" : `${A}:${all.join(":")}`);

test("union and difference agree with plain sets of numbers", () => {
  fc.assert(
    fc.property(numbers, numbers, (one, other) => {
      const [a, b] = [parseGtidSet(text(one)), parseGtidSet(text(other))];
      expect(countMissing(a, b)).toBe(new Set(one).difference(new Set(other)).size);
      const both = [...new Set(one).union(new Set(other))];
      expect(uniteGtidSets(a, b)).toEqual(parseGtidSet(text(both)));
      expect(countMissing(uniteGtidSets(a, b), new Map())).toBe(both.length);
    }),
  );
});

test("a set that is printed and parsed again is the same", () => {
  fc.assert(
    fc.property(numbers, (all) => {
      expect(parseGtidSet(formatGtidSet(parseGtidSet(text(all))))).toEqual(parseGtidSet(text(all)));
    }),
  );
});

test.each([
  ["", ""],
  [`${A}:1:2:3`, `${A}:1-3`],
  [`${B}:2,\n${A.toUpperCase()}:1-3`, `${A}:1-3,${B}:2`],
  [`${A}:1-3:audit:1-2`, `${A}:1-3,${A}:audit:1-2`],
])("%j is printed as %j", (read, written) => {
  expect(formatGtidSet(parseGtidSet(read))).toBe(written);
});

test("the transactions of a group are those with its name, tagged or not", () => {
  const set = parseGtidSet(`${A}:1-3:audit:1-2,${B}:5`);
  expect(formatGtidSet(gtidsOfGroup(set, A.toUpperCase()))).toBe(`${A}:1-3,${A}:audit:1-2`);
});
