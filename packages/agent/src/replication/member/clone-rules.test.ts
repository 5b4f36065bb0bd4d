import { expect, test } from "vitest";
import { memberSpec } from "../../testing/node-spec.ts";
import { cloneIsHeldBy, isStillDue, type MemberWork } from "./clone-rules.ts";

const clone = (donor: string): MemberWork => ({
  name: `clone from ${donor}`,
  waitsFor: "data",
  run: async () => {},
  clone: { id: "order", donor, ordinal: 0 },
});
const upload: MemberWork = { name: "upload", waitsFor: "the store", run: async () => {} };

test("a host makes at most two clones at once, one of each donor, and does everything else beside them", () => {
  expect(cloneIsHeldBy([], clone("a"))).toBeUndefined();
  expect(cloneIsHeldBy([clone("a"), upload, upload], clone("b"))).toBeUndefined();
  expect(cloneIsHeldBy([clone("a")], clone("a"))).toContain("another copy");
  expect(cloneIsHeldBy([clone("a"), clone("b")], clone("c"))).toContain("one of the 2");
  expect(cloneIsHeldBy([clone("a"), clone("b")], upload)).toBeUndefined();
});

test("a clone goes on as long as the newest spec needs its data", () => {
  const id = "cccccccc-cccc-4ccc-8ccc-cccccccccccc";
  const { cluster, ...plain } = memberSpec(0);
  const ordered = memberSpec(0, { cluster: { ...cluster, reclone: { id } } as never });
  const own = { id, donor: "a", ordinal: 0 };
  const begun = { used: { recloning: id }, ordinal: 0 };
  expect(isStillDue(own, ordered, { used: {}, ordinal: 0 })).toBe(true);
  // Nothing can use the data of an interrupted clone.
  expect(isStillDue(own, memberSpec(0), begun)).toBe(true);
  const other = { ...cluster, reclone: { id: "dddddddd-dddd-4ddd-8ddd-dddddddddddd" } } as never;
  expect(isStillDue(own, memberSpec(0, { cluster: other }), begun)).toBe(false);
  expect(isStillDue(own, { ...ordered, tombstone: { operation: 1 } }, begun)).toBe(false);
  expect(isStillDue(own, { ...ordered, power: "off" }, begun)).toBe(false);
  expect(isStillDue(own, ordered, { ...begun, ordinal: 1 })).toBe(false);
  expect(isStillDue(own, plain as never, { used: { recloning: id, recloned: id }, ordinal: 0 })).toBe(false);
});
