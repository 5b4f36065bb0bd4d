import fc from "fast-check";
import { expect, test } from "vitest";
import { sameSources, sourcesOf } from "./allow-list.ts";
import { commonSources } from "./common-sources.ts";

test.each([
  ["an entry that stays", ["203.0.113.7", "198.51.100.0/24"], ["203.0.113.7/32", "192.0.2.1"], ["203.0.113.7"]],
  ["no entry in common", ["203.0.113.7"], ["198.51.100.0/24", "2001:db8::/32"], []],
  ["a range that is made smaller", ["10.0.0.0/8"], ["10.1.0.0/16", "192.0.2.1"], ["10.1.0.0/16"]],
  ["a range that is made larger", ["10.1.0.0/16"], ["10.0.0.0/8"], ["10.1.0.0/16"]],
  [
    "a range that is split",
    ["2001:db8::/32"],
    ["2001:DB8:1::/48", "2001:db8:2::1"],
    ["2001:DB8:1::/48", "2001:db8:2::1"],
  ],
  ["everybody, who becomes one", ["0.0.0.0/0"], ["203.0.113.7", "2001:db8::1"], ["203.0.113.7", "2001:db8::1"]],
  ["everybody, without IPv4", ["0.0.0.0/0"], ["::/0"], ["::/0"]],
  ["everybody, twice", ["0.0.0.0/0"], ["0.0.0.0/0", "203.0.113.7"], ["0.0.0.0/0", "203.0.113.7"]],
  ["an old entry that admits nobody", ["::ffff:1.2.3.4"], ["0.0.0.0/0"], []],
])("%s", (_, before, after, common) => {
  const found = commonSources(before, after);

  expect(found.toSorted()).toEqual(common.toSorted());
});

test("exactly the addresses that both lists admit, whatever the ranges", () => {
  const entry = fc
    .tuple(fc.integer({ min: 0, max: 15 }), fc.integer({ min: 28, max: 32 }))
    .map(([last, prefix]) => `192.0.2.${last & (0xff << (32 - prefix))}/${prefix}`);
  const list = fc.array(entry, { maxLength: 6 });
  const admitted = (sources: readonly string[]): number[] => {
    const ranges = sourcesOf(sources).map((source) => /\.(\d+)\/(\d+)$/.exec(source)?.slice(1).map(Number) ?? []);
    return Array.from({ length: 16 }, (_, last) => last).filter((last) =>
      ranges.some(([own = 0, prefix = 0]) => (last & (0xff << (32 - prefix))) === own),
    );
  };
  fc.assert(
    fc.property(list, list, (before, after) => {
      const both = admitted(before).filter((last) => admitted(after).includes(last));
      expect(admitted(commonSources(before, after))).toEqual(both);
    }),
    { numRuns: 300 },
  );
});

test("two lists of 10,000 entries take less than 5 seconds of a processor", () => {
  const entries = (third: number) =>
    Array.from({ length: 10_000 }, (_, n) => `10.${third}.${Math.floor(n / 256)}.${n % 256}`);
  const started = process.threadCpuUsage();

  expect(commonSources(["10.0.0.0/15", ...entries(0)], entries(1))).toHaveLength(10_000);

  const { user, system } = process.threadCpuUsage(started);
  expect((user + system) / 1000).toBeLessThan(5000);
  expect(sameSources(commonSources(entries(0), entries(0)), entries(0))).toBe(true);
});
