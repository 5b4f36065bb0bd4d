import { expect, test } from "vitest";
import { type Candidate, chooseArchiver, PATIENCE_MS } from "./archiver-store.ts";

const member = (ordinal: number, change: Partial<Candidate> = {}): Candidate => ({
  node: `n${ordinal}`,
  ordinal,
  primary: ordinal === 0,
  unhealthyMs: 0,
  unfit: false,
  ...change,
});
const ill = { unhealthyMs: PATIENCE_MS + 1 };
const later = { freshlyRestored: false };

const cases: [string, Candidate[], string | undefined, string | undefined][] = [
  ["a secondary, the last one first", [member(0), member(1), member(2)], undefined, "n2"],
  ["the same, while it is healthy", [member(0), member(1), member(2)], "n1", "n1"],
  ["one that is unhealthy for a moment", [member(0), member(1), member(2, { unhealthyMs: 1000 })], "n2", "n2"],
  ["another, when it is unhealthy for longer", [member(0), member(1), member(2, ill)], "n2", "n1"],
  ["the primary, when nobody else is healthy", [member(0), member(1, ill), member(2, ill)], "n2", "n0"],
  ["the same, when nobody is healthy", [member(0, ill), member(1, ill), member(2, ill)], "n1", "n1"],
  [
    "another, when it is the primary now",
    [member(0, { primary: false }), member(1), member(2, { primary: true })],
    "n2",
    "n1",
  ],
  ["the primary, when no other is healthy", [member(0, ill), member(1, ill), member(2, { primary: true })], "n2", "n2"],
  ["another, when it was replaced", [member(0), member(1), member(2)], "gone", "n2"],
  ["nobody without logs", [member(0), member(1), member(2, { unfit: true })], "n2", "n1"],
  ["nobody, when there is nobody", [], "n2", undefined],
];
test.each(cases)("the archiver is %s", (_, candidates, current, archiver) => {
  expect(chooseArchiver(candidates, current, later)?.archiver).toBe(archiver);
});

test("the member that restored the data is the archiver until something is archived", () => {
  const members = [member(0), member(1), member(2)];
  expect(chooseArchiver(members, undefined, { freshlyRestored: true })).toEqual({ archiver: "n0" });
  expect(chooseArchiver(members, "n0", { freshlyRestored: true })).toEqual({ archiver: "n0" });
  expect(chooseArchiver(members, "n0", later)).toEqual({ archiver: "n2" });
});

test("the archive continues with a gap only when no member has the next log", () => {
  const unfit = { unfit: true };
  expect(chooseArchiver([member(0, unfit), member(1, unfit), member(2)], "n0", later)).toEqual({ archiver: "n2" });
  expect(chooseArchiver([member(0, unfit), member(1, unfit), member(2, { ...unfit, ...ill })], "n0", later)).toEqual({
    archiver: "n1",
    gap: true,
  });
});
