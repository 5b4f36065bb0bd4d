import fc from "fast-check";
import { expect, test } from "vitest";
import { filesOfTurn, interleave, shardsOf } from "./by-duration.ts";
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

test("two consecutive turns run every file, and each about half of the long ones", () => {
  const files = Array.from({ length: 60 }, (_, n) => `packages/agent/${n}`);
  const seconds = Object.fromEntries(files.map((path, n) => [path, 2 * n]));
  const [one, other] = [7, 8].map((turn) => filesOfTurn([...files, "packages/agent/new"], seconds, turn));
  const total = (paths: readonly string[] = []): number => paths.reduce((sum, path) => sum + (seconds[path] ?? 0), 0);

  expect(new Set([...(one ?? []), ...(other ?? [])])).toEqual(new Set([...files, "packages/agent/new"]));
  for (const path of [...files.slice(0, 11), "packages/agent/new"]) expect(one).toContain(path);
  expect(Math.abs(total(one) - total(other))).toBeLessThan(0.05 * total(files));
});

test("without a turn all files run, and the access of every principal is verified with each turn", () => {
  const matrix = "tests/every-operation/every-operation.integration.test.ts";
  const seconds = { [matrix]: 400, "packages/agent/long": 300 };

  expect(filesOfTurn(Object.keys(seconds), seconds, undefined)).toEqual(Object.keys(seconds));
  for (const turn of [1, 2]) expect(filesOfTurn(Object.keys(seconds), seconds, turn)).toContain(matrix);
});

test("the long system tests are divided apart from the integration tests, and those that use secrets run always", () => {
  const system = ["first-token", "lifecycle", "one-database", "three-nodes"].map(
    (name) => `tests/system/${name}.test.ts`,
  );
  const seconds = { ...durations, ...Object.fromEntries(system.map((path, n) => [path, 90 + n])) };
  const turns = [7, 8].map((turn) => filesOfTurn(system, seconds, turn));

  for (const files of turns) expect(files).toContain("tests/system/first-token.test.ts");
  expect(turns.flat().toSorted()).toEqual([...system, "tests/system/first-token.test.ts"].toSorted());
  expect(filesOfTurn(named, seconds, 7)).toEqual(filesOfTurn(named, durations, 7));
});
