import { expect, test } from "vitest";
import { acceptSpec, type Known, type TombstoneRecord } from "./spec-acceptance.ts";
import { testSpec } from "../testing/node-spec.ts";

const tombstone = (epoch: number, generation: number): TombstoneRecord => ({
  operation: 1,
  epoch,
  generation,
  at: "2026-01-01T00:00:00.000Z",
  spec: testSpec({ epoch, generation, tombstone: { operation: 1 } }),
});
const at = (epoch: number, generation: number) => ({ epoch, generation });

const cases: [string, unknown, Known, string][] = [
  ["a first spec", testSpec(), {}, "store"],
  ["a newer generation", testSpec(at(1, 2)), { stored: at(1, 1) }, "store"],
  ["the same generation", testSpec(at(1, 1)), { stored: at(1, 1) }, "stale"],
  ["an older generation", testSpec(at(1, 1)), { stored: at(1, 2) }, "stale"],
  ["a newer epoch with a lower generation", testSpec(at(2, 1)), { stored: at(1, 9) }, "store"],
  ["an older epoch with a higher generation", testSpec(at(1, 9)), { stored: at(2, 1) }, "stale"],
  ["a node that is gone, from an older control plane", testSpec(at(1, 1)), { tombstone: tombstone(1, 2) }, "stale"],
  ["a node that is gone, desired again", testSpec(at(1, 3)), { tombstone: tombstone(1, 2) }, "store"],
  [
    "a repeated tombstone",
    testSpec({ ...at(1, 3), tombstone: { operation: 2 } }),
    { tombstone: tombstone(1, 2) },
    "gone",
  ],
  ["an unknown field", { ...testSpec(), turbo: true }, {}, "unsupported"],
  ["a later version", { ...testSpec(), version: 2 }, {}, "unsupported"],
  ["an unknown field in an older generation", { ...testSpec(), turbo: true }, { stored: at(1, 1) }, "stale"],
  ["no identity", { hello: "world" }, {}, "unreadable"],
];

test.each(cases)("%s", (_, raw, known, kind) => {
  expect(acceptSpec(raw, () => known).kind).toBe(kind);
});

test("a repeated tombstone is answered with the requested generation", () => {
  const again = testSpec({ ...at(2, 7), tombstone: { operation: 9 } });
  expect(acceptSpec(again, () => ({ tombstone: tombstone(1, 2) }))).toMatchObject({
    record: { operation: 9, epoch: 2, generation: 7 },
  });
});
