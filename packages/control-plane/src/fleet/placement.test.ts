import fc from "fast-check";
import { expect, test } from "vitest";
import { type Candidate, type Need, place } from "./placement.ts";

const now = new Date("2026-11-15T12:00:00Z");
const secondsAgo = (seconds: number): Date => new Date(now.getTime() - seconds * 1000);

const host = (change: Partial<Candidate>): Candidate => ({
  id: 1,
  failure_domain: "rack-1",
  memory_mb: 4096,
  disk_mb: 40_960,
  reserved_memory_mb: 0,
  reserved_disk_mb: 0,
  trash_mb: 0,
  seen_at: now,
  ...change,
});
const need: Need = { count: 1, memory_mb: 1024, disk_mb: 10_240 };

// Most hosts have room and were seen recently: otherwise there is nothing to choose from.
const anyHost = fc.record({
  failure_domain: fc.constantFrom("a", "b", "c", "d"),
  memory_mb: fc.integer({ min: 4, max: 12 }),
  disk_mb: fc.integer({ min: 4, max: 12 }),
  reserved_memory_mb: fc.integer({ min: 0, max: 4 }),
  reserved_disk_mb: fc.integer({ min: 0, max: 4 }),
  trash_mb: fc.integer({ min: 0, max: 3 }),
  seen_at: fc.constantFrom(now, now, now, secondsAgo(29), secondsAgo(29), secondsAgo(30), secondsAgo(3600), null),
});
const anyHosts = fc.array(anyHost, { maxLength: 8 }).map((hosts) => hosts.map((one, id) => ({ ...one, id })));
const anyNeed = fc.record({
  count: fc.constantFrom(1, 3),
  memory_mb: fc.integer({ min: 1, max: 4 }),
  disk_mb: fc.integer({ min: 1, max: 4 }),
});
const fits = (one: Candidate, required: Need): boolean =>
  one.reserved_memory_mb + required.memory_mb <= one.memory_mb &&
  one.reserved_disk_mb + one.trash_mb + required.disk_mb <= one.disk_mb;
const isReachable = ({ seen_at }: Candidate): boolean =>
  seen_at === now || seen_at?.getTime() === secondsAgo(29).getTime();

test("nodes get different reachable hosts with room, in different failure domains where there are enough", () => {
  const run = fc.check(
    fc.property(anyHosts, anyNeed, (hosts, required) => {
      const usable: Candidate[] = hosts.filter((one) => isReachable(one) && fits(one, required));
      const chosen = place(hosts, required, now);

      if (usable.length < required.count) return chosen === undefined;
      const taken = (chosen ?? []).map((id) => hosts[id] as Candidate);
      const domains = (some: readonly Candidate[]): number =>
        new Set(some.map(({ failure_domain }) => failure_domain)).size;
      return (
        taken.length === required.count &&
        new Set(chosen).size === required.count &&
        taken.every((one) => usable.includes(one)) &&
        domains(taken) === Math.min(required.count, domains(usable))
      );
    }),
    { numRuns: 2000 },
  );
  expect(run).toMatchObject({ failed: false, numRuns: 2000 });
});

test("volumes of removed nodes that are still on a disk take room", () => {
  expect(place([host({ trash_mb: 30_720 })], need, now)).toEqual([1]);
  expect(place([host({ trash_mb: 30_721 })], need, now)).toBeUndefined();
});

test("the emptiest host comes first, by memory or disk, whichever is fuller", () => {
  const fullDisk = host({ id: 1, reserved_disk_mb: 20_480 });
  const halfMemory = host({ id: 2, reserved_memory_mb: 1024 });

  expect(place([fullDisk, halfMemory], need, now)).toEqual([2]);
});

test("a host that missed three polls gets no new nodes", () => {
  expect(place([host({ seen_at: secondsAgo(29) })], need, now)).toEqual([1]);
  expect(place([host({ seen_at: secondsAgo(30) })], need, now)).toBeUndefined();
  expect(place([host({ seen_at: null })], need, now)).toBeUndefined();
});

test("a failure domain that already has a node is used only when there is no other", () => {
  const [near, far] = [
    host({ id: 1, failure_domain: "a" }),
    host({ id: 2, failure_domain: "b", reserved_memory_mb: 1024 }),
  ];
  const beside = { ...need, taken: ["a"] };

  expect(place([near, far], beside, now)).toEqual([2]);
  expect(place([near], beside, now)).toEqual([1]);
});
