import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type CopyInfo,
  type History,
  type LogInfo,
  NotRestorable,
  planRestore,
  restorableRange,
  type Target,
  type TimelineInfo,
} from "./recipe.ts";
import { texts } from "./texts.ts";

const at = (second: number): Date => new Date(second * 1000);

/** A lifecycle in whole seconds: one transaction in each, named `timeline:second`. */
type Life = {
  created: number;
  through: number;
  closings: number[];
  copies: { started: number; ended: number }[];
  parent?: { id: number; until: number };
};

/** The starting points of restores, chosen by numbers so that every generated lifecycle is possible. */
const Lives = fc
  .array(
    fc.record({
      created: fc.nat(40),
      length: fc.integer({ min: 1, max: 40 }),
      closings: fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { maxLength: 8 }),
      copies: fc.array(fc.record({ started: fc.integer({ min: 1, max: 40 }), takes: fc.nat(5) }), { maxLength: 3 }),
      parent: fc.nat(5),
      left: fc.nat(40),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((drafts) => {
    const lives: Life[] = [];
    for (const [n, draft] of drafts.entries()) {
      const parentId = n === 0 ? undefined : draft.parent % n;
      const parent = parentId === undefined ? undefined : (lives[parentId] as Life);
      const created = parent === undefined ? draft.created : parent.through + draft.created;
      const end = created + draft.length;
      const closings = draft.closings.map((after) => created + after).filter((time) => time <= end);
      lives.push({
        created,
        through: end,
        closings: closings.sort((a, b) => a - b),
        copies: draft.copies
          .map(({ started, takes }) => ({ started: created + started, ended: created + started + takes }))
          .filter(({ ended }) => ended <= end),
        ...(parent === undefined || parentId === undefined
          ? {}
          : { parent: { id: parentId, until: Math.min(parent.through, parent.created + draft.left) } }),
      });
    }
    return lives;
  });

const name = (n: number): string => `t${n}`;

function historyOf(all: readonly Life[]): History<CopyInfo, LogInfo & { since: number }> {
  const timelines = all.map(
    ({ created, through, closings, parent }, n): TimelineInfo => ({
      id: name(n),
      prepared: parent === undefined ? "p" : null,
      parent_id: parent === undefined ? null : name(parent.id),
      parent_copy_id: null,
      parent_until: parent === undefined ? null : at(parent.until),
      created_at: at(created),
      archived_through: at(through),
      last_log: closings.length,
    }),
  );
  const logs = all.flatMap(({ created, closings }, n) =>
    closings.map((closed, i) => ({
      timeline_id: name(n),
      sequence: i + 1,
      closed_at: at(closed),
      since: closings[i - 1] ?? created,
    })),
  );
  const copies = all.flatMap(({ copies: taken, closings }, n) =>
    taken.map(({ started, ended }, i) => ({
      id: `c${n}.${i}`,
      timeline_id: name(n),
      started_at: at(started),
      ended_at: at(ended),
      first_log: closings.filter((closed) => closed < started).length + 1,
    })),
  );
  return { timelines, logs, copies };
}

/** The oracle ignores copies and logs: what a tenant who wrote one row per second would see. */
function written(all: readonly Life[], n: number, until: number): Set<string> {
  const { created, parent } = all[n] as Life;
  const before = parent === undefined ? new Set<string>() : written(all, parent.id, parent.until);
  for (let second = created; second < until; second++) before.add(`${n}:${second}`);
  return before;
}

/** Applies a plan as a host does. Of the writes during a copy, the copy may contain all or none. */
function applied(
  all: readonly Life[],
  history: ReturnType<typeof historyOf>,
  target: Target,
  copied: "started_at" | "ended_at",
): Set<string> {
  const plan = planRestore(history, target);
  const rows = new Set<string>();
  if (plan.base.kind === "copy") {
    const { timeline_id, [copied]: held } = plan.base.copy;
    for (const row of written(all, Number(timeline_id.slice(1)), held.getTime() / 1000)) rows.add(row);
  }
  const seen = new Set<string>();
  for (const { log, before } of plan.logs) {
    const id = `${log.timeline_id}/${log.sequence}`;
    if (seen.has(id)) throw new Error(`${id} is there twice.`);
    seen.add(id);
    const end = Math.min(log.closed_at.getTime(), before?.getTime() ?? Number.POSITIVE_INFINITY) / 1000;
    for (let second = log.since; second < end; second++) rows.add(`${log.timeline_id.slice(1)}:${second}`);
  }
  return rows;
}

/** What was written after the last log was closed is not archived: then `through` states that there was nothing. */
const quietAfterLastClosing = (all: readonly Life[], rows: Set<string>): Set<string> =>
  new Set(
    [...rows].filter((row) => {
      const [n = 0, second = 0] = row.split(":").map(Number);
      return second < ((all[n] as Life).closings.at(-1) ?? 0);
    }),
  );

const Case = fc.record({
  all: Lives,
  pick: fc.nat(3),
  share: fc.nat(1000),
  copied: fc.constantFrom("started_at" as const, "ended_at" as const),
});

type Case = typeof Case extends fc.Arbitrary<infer Value> ? Value : never;

/** Restores to a time of one timeline, and compares with the oracle. */
function expectExact({ all, pick, share, copied }: Case, lost: number[]) {
  const n = pick % all.length;
  const { created, through } = all[n] as Life;
  const until = created + Math.floor(((through - created) * share) / 1000);
  const rows = applied(all, without(historyOf(all), lost), { timeline: name(n), until: at(until) }, copied);
  const everything = written(all, n, until);
  const [missing, foreign] = [quietAfterLastClosing(all, everything).difference(rows), rows.difference(everything)];
  if (missing.size + foreign.size > 0)
    throw new Error(`Missing: ${[...missing].join(" ")}. Not of it: ${[...foreign].join(" ")}.`);
}

const without = (history: ReturnType<typeof historyOf>, lost: number[]) => ({
  ...history,
  logs: history.logs.filter((_, n) => !lost.includes(n)),
  copies: history.copies.filter((_, n) => !lost.includes(n + 20)),
});

test("every time is restored exactly: nothing missing, and nothing of a timeline after its branch point", () => {
  const found = fc.check(
    fc.property(Case, (each) => expectExact(each, [])),
    { numRuns: 1000 },
  );
  expect(found).toMatchObject({ failed: false });
});

test("with any logs and copies missing, a plan that still exists is exact", () => {
  const count = { refused: 0, given: 0 };
  fc.assert(
    fc.property(Case, fc.array(fc.nat(30)), (each, lost) => {
      try {
        expectExact(each, lost);
        count.given++;
      } catch (error) {
        if (!(error instanceof NotRestorable)) throw error;
        count.refused++;
      }
    }),
    { numRuns: 1000 },
  );
  expect(Math.min(count.refused, count.given)).toBeGreaterThan(50);
});

test("every time of the range can be restored, and none after it", () => {
  fc.assert(
    fc.property(Case, fc.array(fc.nat(30)), ({ all, pick, share }, lost) => {
      const n = pick % all.length;
      const history = without(historyOf(all), lost);
      const range = restorableRange(history, name(n));
      if (range === undefined) return;
      const [oldest, newest] = [range.oldest.getTime(), range.newest.getTime()];
      const until = new Date(oldest + Math.floor(((newest - oldest) * share) / 1000));
      planRestore(history, { timeline: name(n), until });
      const late = { timeline: name(n), until: new Date(newest + 1) };
      expect(() => planRestore(history, late)).toThrow(NotRestorable);
    }),
    { numRuns: 1000 },
  );
});

const timeline: TimelineInfo = {
  id: "t0",
  prepared: "p",
  parent_id: null,
  parent_copy_id: null,
  parent_until: null,
  created_at: at(0),
  archived_through: at(1000),
  last_log: 10,
};
const log = (sequence: number): LogInfo => ({ timeline_id: "t0", sequence, closed_at: at(sequence * 100) });
const copy = (id: string, started: number, first_log: number): CopyInfo => ({
  id,
  timeline_id: "t0",
  started_at: at(started),
  ended_at: at(started + 10),
  first_log,
});

// A snapshot is kept for ever, the logs after it for a week.
test("a time after an old snapshot without its logs is refused, with the restorable range", () => {
  const history = {
    timelines: [timeline],
    copies: [copy("old", 150, 2), copy("new", 750, 8)],
    logs: [8, 9, 10].map(log),
  };

  expect(() => planRestore(history, { timeline: "t0", until: at(500) })).toThrow(
    texts.restorableTimes({ ranges: [{ oldest: "1970-01-01T00:12:40", newest: "1970-01-01T00:16:40" }] }).text,
  );
  expect(planRestore(history, { timeline: "t0", copy: "old" })).toMatchObject({
    base: { copy: { id: "old" } },
    logs: [],
  });
  expect(planRestore(history, { timeline: "t0", until: at(850) })).toEqual({
    base: { kind: "copy", copy: history.copies[1] },
    logs: [{ log: log(8) }, { log: log(9), before: at(850) }],
  });
});

// A snapshot is taken during a slow nightly copy.
test("of two overlapping copies the one that started last is used", () => {
  const [slow, quick] = [{ ...copy("slow", 150, 2), ended_at: at(700) }, copy("quick", 450, 5)];
  const history = { timelines: [timeline], copies: [slow, quick], logs: [5, 6, 7, 8, 9, 10].map(log) };

  const plan = planRestore(history, { timeline: "t0", until: at(750) });

  expect(plan.base).toEqual({ kind: "copy", copy: quick });
});

test("a timeline without logs and without a known start cannot be restored", () => {
  const orphan = { ...timeline, prepared: null };
  expect(() => planRestore({ timelines: [orphan], copies: [], logs: [] }, { timeline: "t0", until: at(1) })).toThrow(
    texts.nothingRestorable().text,
  );
  // Its logs existed once: the prepared directory alone is not the complete state.
  expect(() => planRestore({ timelines: [timeline], copies: [], logs: [] }, { timeline: "t0", until: at(1) })).toThrow(
    NotRestorable,
  );
});

test("a timeline that started from a snapshot starts with that copy, without its parent's logs", () => {
  const child: TimelineInfo = {
    ...timeline,
    id: "t1",
    prepared: null,
    parent_id: "t0",
    parent_copy_id: "snap",
    created_at: at(2000),
    archived_through: at(3000),
    last_log: 1,
  };
  const own = { timeline_id: "t1", sequence: 1, closed_at: at(2500) };
  const history = {
    timelines: [child, timeline],
    copies: [copy("snap", 150, 2), copy("later", 750, 8)],
    logs: [...Array.from({ length: 10 }, (_, n) => log(n + 1)), own],
  };

  expect(planRestore(history, { timeline: "t1", until: at(2400) })).toEqual({
    base: { kind: "copy", copy: history.copies[0] },
    logs: [{ log: own, before: at(2400) }],
  });
});
