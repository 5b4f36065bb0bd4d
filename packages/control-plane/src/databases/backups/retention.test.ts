import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type CopyInfo,
  type LogInfo,
  NotRestorable,
  planRestore,
  type Target,
  type TimelineInfo,
} from "../archive/recipe.ts";
import { type Backup, expiredBackups, needsOf, unneededLogs } from "./retention.ts";
import { RESTORE_DAYS } from "../model/restore-window.ts";

const HOUR_MS = 3_600_000;
const DAY_HOURS = 24;
const at = (hour: number): Date => new Date(hour * HOUR_MS);

type Timeline = TimelineInfo & { ended_at: Date | null };
type Archive = { timelines: Timeline[]; copies: CopyInfo[]; logs: LogInfo[]; backups: Backup[] };

const TimelineDrafts = fc.record({
  created: fc.nat(400),
  length: fc.integer({ min: 1, max: 700 }),
  closings: fc.uniqueArray(fc.integer({ min: 1, max: 700 }), { maxLength: 40 }),
  copies: fc.array(fc.record({ started: fc.integer({ min: 1, max: 700 }), takes: fc.nat(6), early: fc.nat(2) }), {
    maxLength: 8,
  }),
  parent: fc.nat(5),
  leftAt: fc.nat(700),
  fromCopy: fc.boolean(),
  ended: fc.boolean(),
});
type TimelineDraft = typeof TimelineDrafts extends fc.Arbitrary<infer Draft> ? Draft : never;

/** Some forty days in hours. The first timeline is the oldest; each other one starts at a point of an earlier one. */
const Archives = fc
  .record({
    timelines: fc.array(TimelineDrafts, { minLength: 1, maxLength: 4 }),
    snapshots: fc.array(fc.nat(30), { maxLength: 3 }),
    points: fc.array(fc.record({ timeline: fc.nat(3), day: fc.nat(45), verified: fc.boolean() }), { maxLength: 14 }),
  })
  .map(({ timelines: drafts, snapshots, points }): Archive => {
    const archive: Archive = { timelines: [], copies: [], logs: [], backups: [] };
    for (const draft of drafts) addTimeline(archive, draft);
    let id = 0;
    for (const pick of new Set(snapshots)) {
      const copy = archive.copies[pick];
      if (copy === undefined) continue;
      const { id: copy_id, timeline_id, ended_at } = copy;
      archive.backups.push({ id: ++id, type: "snapshot", timeline_id, copy_id, point_at: ended_at, verified_at: null });
    }
    for (const { timeline: pick, day, verified } of points) {
      const timeline = archive.timelines[pick % archive.timelines.length];
      const point_at = at(day * DAY_HOURS);
      if (timeline === undefined || point_at < timeline.created_at || point_at > timeline.archived_through) continue;
      const verified_at = verified ? point_at : null;
      archive.backups.push({ id: ++id, type: "auto", timeline_id: timeline.id, copy_id: null, point_at, verified_at });
    }
    return archive;
  });

function addTimeline(archive: Archive, draft: TimelineDraft): void {
  const n = archive.timelines.length;
  const parent = n === 0 ? undefined : archive.timelines[draft.parent % n];
  const created = (parent === undefined ? 0 : parent.created_at.getTime() / HOUR_MS) + draft.created;
  const end = created + draft.length;
  const closings = draft.closings
    .map((after) => created + after)
    .filter((hour) => hour <= end)
    .sort((a, b) => a - b);
  const parentCopies = archive.copies.filter(({ timeline_id }) => timeline_id === parent?.id);
  const parentCopy = draft.fromCopy ? parentCopies[draft.leftAt % Math.max(1, parentCopies.length)] : undefined;
  archive.timelines.push({
    id: `t${n}`,
    prepared: parent === undefined ? "p" : null,
    parent_id: parent?.id ?? null,
    parent_copy_id: parentCopy?.id ?? null,
    parent_until: parent === undefined || parentCopy !== undefined ? null : leftAt(parent, draft.leftAt),
    created_at: at(created),
    ended_at: draft.ended ? at(end) : null,
    archived_through: at(end),
    last_log: closings.length,
  });
  for (const [i, hour] of closings.entries())
    archive.logs.push({ timeline_id: `t${n}`, sequence: i + 1, closed_at: at(hour) });
  for (const [i, { started, takes, early }] of draft.copies.entries()) {
    if (created + started + takes > end) continue;
    const before = closings.filter((hour) => hour < created + started).length;
    archive.copies.push({
      id: `c${n}.${i}`,
      timeline_id: `t${n}`,
      first_log: Math.max(1, before + 1 - early),
      started_at: at(created + started),
      ended_at: at(created + started + takes),
    });
  }
}

const leftAt = ({ created_at, archived_through }: Timeline, hours: number): Date =>
  new Date(Math.min(archived_through.getTime(), created_at.getTime() + hours * HOUR_MS));

/** What is left after the retention job. */
function retained(archive: Archive, kept: number, now: Date): Archive {
  const expired = expiredBackups(archive.backups, kept);
  const backups = archive.backups.filter(({ id }) => !expired.includes(id));
  const needs = needsOf({ ...archive, backups }, now);
  const logs = archive.timelines.flatMap(({ id }) => {
    const own = archive.logs.filter(({ timeline_id }) => timeline_id === id);
    const unneeded = unneededLogs(
      own,
      needs.logs.filter(({ timeline }) => timeline === id),
    );
    return own.filter((log) => !unneeded.includes(log));
  });
  return { ...archive, backups, logs, copies: archive.copies.filter(({ id }) => needs.copies.has(id)) };
}

const targetOf = ({ timeline_id, copy_id, point_at }: Backup): Target =>
  copy_id === null ? { timeline: timeline_id, until: point_at } : { timeline: timeline_id, copy: copy_id };

function planOf(archive: Archive, target: Target): unknown {
  try {
    return planRestore(archive, target);
  } catch (error) {
    if (error instanceof NotRestorable) return undefined;
    throw error;
  }
}

const windowTargets = ({ timelines }: Archive, now: Date): Target[] =>
  timelines.flatMap(({ id, created_at, ended_at }) =>
    Array.from({ length: RESTORE_DAYS * 6 }, (_, n) => new Date(now.getTime() - n * 3.9 * HOUR_MS))
      .filter((until) => until >= created_at && (ended_at === null || until < ended_at))
      .map((until) => ({ timeline: id, until })),
  );

test("after retention every kept backup and every time of the last days restores as before, day after day", () => {
  let [compared, gone] = [0, 0];
  fc.assert(
    fc.property(
      Archives,
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 200, max: 1300 }),
      (archive, kept, hour) => {
        let left = archive;
        for (const later of [0, 30, 200]) {
          const now = at(hour + later);
          left = retained(left, kept, now);
          const targets = [...left.backups.map(targetOf), ...windowTargets(left, now)];
          const possible = targets.filter((target) => planOf(archive, target) !== undefined);
          // Compared without a matcher: building its message for each of so many costs more than all the rest.
          const changed = possible.filter(
            (target) => !isDeepStrictEqual(planOf(left, target), planOf(archive, target)),
          );
          expect(changed).toEqual([]);
          compared += possible.length;
        }
        gone += archive.logs.length - left.logs.length + archive.copies.length - left.copies.length;
      },
    ),
    { numRuns: 500 },
  );
  expect(Math.min(compared, gone)).toBeGreaterThan(500);
});

const daily = (id: number, day: number, verified = false): Backup => ({
  id,
  type: "auto",
  timeline_id: "t0",
  copy_id: null,
  point_at: at(day * DAY_HOURS),
  verified_at: verified ? at(day * DAY_HOURS + 1) : null,
});
const snapshot = (id: number, day: number, copy_id: string): Backup => ({
  id,
  type: "snapshot",
  timeline_id: "t0",
  copy_id,
  point_at: at(day * DAY_HOURS),
  verified_at: null,
});

test("the newest daily backups and the newest verified one stay, however old; snapshots never expire", () => {
  const backups = [snapshot(1, 1, "c0"), daily(2, 2, true), daily(3, 3, true), ...[4, 5, 6].map((n) => daily(n, n))];
  expect(expiredBackups(backups, 4)).toEqual([2]);
  expect(expiredBackups(backups, 3)).toEqual([4, 2]);
  expect(expiredBackups(backups, 2)).toEqual([5, 4, 2]);
  expect(expiredBackups(backups.toReversed(), 7)).toEqual([]);
});

const life: Timeline = {
  id: "t0",
  prepared: "p",
  parent_id: null,
  parent_copy_id: null,
  parent_until: null,
  created_at: at(0),
  ended_at: null,
  archived_through: at(720),
  last_log: 30,
};
/** A copy and a log on each of thirty days. */
const days = Array.from({ length: 30 }, (_, n) => n + 1);
const copies = days.map((day) => ({
  id: `c${day}`,
  timeline_id: "t0",
  first_log: day,
  started_at: at(day * DAY_HOURS - 2),
  ended_at: at(day * DAY_HOURS - 1),
}));
const logs = days.map((day) => ({ timeline_id: "t0", sequence: day, closed_at: at(day * DAY_HOURS) }));
const sequencesOf = (archive: Archive): number[] => archive.logs.map(({ sequence }) => sequence);

test("copies and logs older than the window's base are deleted; a snapshot keeps its copy and no log", () => {
  const archive = { timelines: [life], copies, logs, backups: [snapshot(1, 3, "c3")] };
  const left = retained(archive, 7, at(720));
  expect(left.copies.map(({ id }) => id)).toEqual(["c3", ...days.slice(21).map((day) => `c${day}`)]);
  expect(sequencesOf(left)).toEqual(days.slice(21));
});

test("an old verified backup keeps its copy and the logs up to its time, and nothing between it and the window", () => {
  const left = retained({ timelines: [life], copies, logs, backups: [daily(1, 10, true)] }, 7, at(720));
  expect(left.copies.map(({ id }) => id)).toEqual(["c10", ...days.slice(21).map((day) => `c${day}`)]);
  expect(sequencesOf(left)).toEqual([10, ...days.slice(21)]);
});

test("a parent is kept while its child starts from it, until the child has a copy older than the window", () => {
  const ended = { ...life, ended_at: at(240), archived_through: at(240), last_log: 10 };
  const parentCopies = copies.slice(0, 10);
  const parentLogs = logs.slice(0, 10);
  const child: Timeline = {
    ...life,
    id: "t1",
    prepared: null,
    parent_id: "t0",
    parent_until: at(192),
    created_at: at(240),
    last_log: 0,
  };
  const archive = { timelines: [ended, child], copies: parentCopies, logs: parentLogs, backups: [] };

  const left = retained(archive, 7, at(720));
  expect([left.copies.map(({ id }) => id), sequencesOf(left)]).toEqual([["c8"], [8]]);

  const own = { id: "own", timeline_id: "t1", started_at: at(300), ended_at: at(301), first_log: 1 };
  const without = retained({ ...archive, copies: [...parentCopies, own] }, 7, at(720));
  expect([without.copies.map(({ id }) => id), sequencesOf(without)]).toEqual([["own"], []]);
});
