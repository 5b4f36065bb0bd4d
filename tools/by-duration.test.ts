import fc from "fast-check";
import { expect, test } from "vitest";
import { interleave, shardsOf } from "./by-duration.ts";
import type { Durations } from "./test-durations.ts";

const durations: Durations = {
  "packages/agent/src/long": 100,
  "packages/agent/src/short": 2,
  "packages/control-plane/src/long": 90,
  "packages/control-plane/src/usual": 8,
  "packages/control-plane/src/short": 1,
};
const named = Object.keys(durations);

test("every file runs once, the longest of each kind first", () => {
  const ordered = interleave(named.toReversed(), durations);

  expect(ordered.toSorted()).toEqual(named.toSorted());
  expect(ordered.slice(0, 2)).toEqual(["packages/agent/src/long", "packages/control-plane/src/long"]);
  expect(ordered.at(-1)).toBe("packages/control-plane/src/short");
});

test("a file without a measurement is ordered between the slow and the fast files", () => {
  const ordered = interleave([...named, "packages/control-plane/src/new"], durations);

  const at = (name: string): number => ordered.indexOf(`packages/control-plane/src/${name}`);
  expect(at("new")).toBeGreaterThan(at("long"));
  expect(at("new")).toBeLessThan(at("short"));
});

test("every file is in one shard, the same on every machine", () => {
  const paths = fc.uniqueArray(fc.constantFrom(...named, ...named.map((path) => `${path}-new`)));
  fc.assert(
    fc.property(paths, fc.integer({ min: 1, max: 5 }), (some, count) => {
      const shards = shardsOf(some, count, durations);
      expect(shards).toHaveLength(count);
      expect(shards.flat().toSorted()).toEqual(some.toSorted());
      expect(shardsOf(some.toReversed(), count, durations)).toEqual(shards);
    }),
  );
});

test("two shards differ by at most the duration of the longest file", () => {
  const files = Array.from({ length: 60 }, (_, n) => `packages/${n % 3 === 0 ? "agent" : "cli"}/${n}`);
  const seconds = Object.fromEntries(files.map((path, n) => [path, ((n * 37) % 53) + 1]));

  const totals = shardsOf(files, 4, seconds).map((shard) => shard.reduce((sum, path) => sum + (seconds[path] ?? 0), 0));

  expect(Math.max(...totals) - Math.min(...totals)).toBeLessThanOrEqual(Math.max(...Object.values(seconds)));
});
