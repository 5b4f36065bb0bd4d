import type { DiskState } from "@moorage/contract/agent";
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkAgainMs, type DiskDecision, diskDecision, type DiskFacts, emergencyMb } from "./disk-decision.ts";
import { imageMb } from "../node/volume.ts";

const [open, closed] = [
  { readOnly: false, groupMember: false },
  { readOnly: true, groupMember: false },
];
const member = { readOnly: true, groupMember: true };

/** For a plan of 1000 MB. */
const table: [number, DiskFacts["server"], DiskState, DiskDecision["server"]][] = [
  [100, open, "ok", "leave"],
  [899, open, "ok", "leave"],
  [900, open, "low", "leave"],
  [979, open, "low", "leave"],
  [980, open, "read_only", "close"],
  [1200, open, "read_only", "close"],
  [980, closed, "read_only", "leave"],
  [950, closed, "read_only", "leave"],
  [949, closed, "low", "open"],
  [100, closed, "ok", "open"],
  // A server that does not answer is left alone; its disk is still reported.
  [980, undefined, "read_only", "leave"],
  [960, undefined, "low", "leave"],
  // A secondary is read-only whatever its disk, and only the group makes a member writable.
  [100, member, "ok", "leave"],
  [960, member, "low", "leave"],
  [990, member, "read_only", "leave"],
  [990, { readOnly: false, groupMember: true }, "read_only", "close"],
  // A primary that is read-only for its disk stays so until there is space, then hands over to another member.
  [960, { ...member, isPrimary: true }, "read_only", "leave"],
  [940, { ...member, isPrimary: true }, "low", "hand over"],
];
test.each(table)("%i MB of 1000, server %o: %s, %s", (usedMb, server, state, change) => {
  expect(diskDecision({ planMb: 1000, usedMb, freeMb: 10_000, totalMb: 2000, server })).toEqual({
    state,
    server: change,
    grow: false,
  });
});

test("a larger plan makes a server writable only once the volume has grown", () => {
  const facts = { planMb: 2048, usedMb: 1010, freeMb: 206, server: closed };
  expect(diskDecision({ ...facts, totalMb: imageMb(1024) - 64 })).toMatchObject({
    state: "read_only",
    server: "leave",
  });
  expect(diskDecision({ ...facts, totalMb: imageMb(2048) - 64 })).toMatchObject({ state: "ok", server: "open" });
});

test("the disk never makes a group member writable", () => {
  fc.assert(
    fc.property(fc.nat(2_000_000), fc.nat(2_000_000), fc.boolean(), (planMb, usedMb, readOnly) => {
      const decision = diskDecision({
        planMb,
        usedMb,
        freeMb: 1000,
        totalMb: planMb,
        server: { readOnly, groupMember: true },
      });
      expect(decision.server).not.toBe("open");
    }),
  );
});

test("a volume grows before the file system keeps back its last 32 MB, and only then", () => {
  const grows = (planMb: number, freeMb: number) =>
    diskDecision({ planMb, usedMb: planMb, freeMb, totalMb: imageMb(planMb) - 64, server: open }).grow;
  expect([grows(1024, 97), grows(1024, 95), grows(25_600, 321), grows(25_600, 319)]).toEqual([
    false,
    true,
    false,
    true,
  ]);
});

test("a database that fills its plan is read-only with most of the reserve left", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1024, max: 4_000_000 }), (planMb) => {
      const ownMb = 64 + 33; // XFS: its log, and what it reserves for itself
      const freeMb = imageMb(planMb) - ownMb - planMb;
      expect(
        diskDecision({ planMb, usedMb: planMb, freeMb, totalMb: imageMb(planMb) - 64, server: open }),
      ).toMatchObject({
        server: "close",
        grow: false,
      });
      expect(freeMb).toBeGreaterThan(emergencyMb(planMb) * 1.5);
    }),
  );
});

test.each([
  [100_000, "ok", 5000],
  [4000, "ok", 2000],
  [400, "low", 200],
  [10, "low", 100],
  [10, "read_only", 500],
] as const)("with %i MB free and %s the next check is after %i ms", (freeMb, state, ms) => {
  expect(checkAgainMs(freeMb, state)).toBe(ms);
});
