import { expect, test } from "vitest";
import { type CopyFacts, dueWork } from "./due-work.ts";

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
const start = Date.parse("2026-03-01T00:00:00Z");
const hours = { from: 20, to: 24 };

type Copy = { node: string; at: number };
type Outage = { from: number; until: number };

/** Simulates a host minute by minute: one copy at a time, each for `copyMs`, none during an outage. */
function live(options: { nodes: CopyFacts[]; days: number; copyMs: number; outages?: Outage[] }): Copy[] {
  const { nodes, days, copyMs, outages = [] } = options;
  const newest = new Map<string, Date>();
  const copies: Copy[] = [];
  let busyUntil = start;
  for (let now = start; now < start + days * day; now += minute) {
    if (now < busyUntil || outages.some(({ from, until }) => now >= from && now < until)) continue;
    const facts = nodes.map((node) => ({ ...node, ...withCopy(newest.get(node.node)) }));
    const [work] = dueWork(new Date(now), facts);
    if (work === undefined) continue;
    busyUntil = now + copyMs;
    newest.set(work.node, new Date(busyUntil));
    copies.push({ node: work.node, at: now });
  }
  return copies;
}
const withCopy = (newestCopy: Date | undefined) => (newestCopy === undefined ? {} : { newestCopy });
const fifty = Array.from({ length: 50 }, (_, index): CopyFacts => {
  const node = `node-${String(index).padStart(2, "0")}`;
  return { node, hours, origin: "prepared", since: new Date(start) };
});
const hourOf = ({ at }: Copy): number => (at % day) / hour;
const ofDay = (copies: Copy[], n: number): Copy[] => copies.filter(({ at }) => Math.floor((at - start) / day) === n);

test("each of fifty databases is copied once a day, spread evenly over the copy hours", () => {
  const copies = live({ nodes: fifty, days: 7, copyMs: 2 * minute });
  for (let n = 0; n < 7; n++) {
    expect(new Set(ofDay(copies, n).map(({ node }) => node)).size).toBe(50);
    expect(ofDay(copies, n).length).toBe(50);
  }
  expect(copies.every((copy) => hourOf(copy) >= 20 && hourOf(copy) < 24)).toBe(true);
  for (const quarter of [20, 21, 22, 23])
    expect(ofDay(copies, 3).filter((copy) => Math.floor(hourOf(copy)) === quarter).length).toBeGreaterThan(10);
});

test("a host that was down during the copy hours catches up one at a time, then returns to its hours", () => {
  const outages = [{ from: start + 2 * day + 19 * hour, until: start + 3 * day + 2 * hour }];
  const copies = live({ nodes: fifty, days: 7, copyMs: 2 * minute, outages });
  const lateOnes = copies.filter(({ at }) => at >= start + 3 * day + 2 * hour && at < start + 3 * day + 19 * hour);
  expect(new Set(lateOnes.map(({ node }) => node)).size).toBe(50);
  expect(lateOnes.length).toBe(50);
  const times = lateOnes.map(({ at }) => at);
  expect(times.every((at, index) => index === 0 || at - (times[index - 1] ?? 0) >= 2 * minute)).toBe(true);
  expect(ofDay(copies, 5).every((copy) => hourOf(copy) >= 20)).toBe(true);
  expect(ofDay(copies, 5).length).toBe(50);
});

test("copies that do not fit into the hours continue after them, and no database is left out", () => {
  const copies = live({ nodes: fifty, days: 3, copyMs: 12 * minute });
  expect(new Set(copies.filter(({ at }) => at < start + day + 8 * hour).map(({ node }) => node)).size).toBe(50);
});

test("no database goes two days without a copy, in spite of daily outages", () => {
  const outages = [0, 1, 2, 3, 4, 5, 6].map((n) => ({
    from: start + n * day + (n % 3) * 7 * hour,
    until: start + n * day + (n % 3) * 7 * hour + 6 * hour,
  }));
  const copies = live({ nodes: fifty, days: 7, copyMs: 2 * minute, outages });
  for (const { node } of fifty) {
    const at = copies.filter((copy) => copy.node === node).map((copy) => copy.at);
    expect(Math.max(...at.map((time, index) => time - (at[index - 1] ?? start)))).toBeLessThan(2 * day);
  }
});

const now = new Date(start + 12 * hour);
const one: CopyFacts = { node: "a", hours, origin: "prepared", since: new Date(now.getTime() - hour) };
const cases: [string, boolean, CopyFacts][] = [
  ["a new database, whose base is the prepared directory", false, one],
  ["one that came from an archive and has no base of its own", true, { ...one, origin: "archive" }],
  ["one that failed a moment ago", false, { ...one, origin: "archive", notBefore: new Date(now.getTime() + minute) }],
  ["one that failed, and may try again", true, { ...one, origin: "archive", notBefore: now }],
  ["one that was copied last night", false, { ...one, newestCopy: new Date(start - hour) }],
  ["one that was missed last night", true, { ...one, newestCopy: new Date(start - 27 * hour) }],
];
test.each(cases)("at noon, %s: due is %s", (_, due, facts) => {
  expect(dueWork(now, [facts]).length > 0).toBe(due);
});

test("copy hours may span midnight", () => {
  const nodes = fifty.map((facts) => ({ ...facts, hours: { from: 22, to: 2 } }));
  const copies = live({ nodes, days: 4, copyMs: 2 * minute }).filter(({ at }) => at >= start + 12 * hour);
  expect(copies.every((copy) => hourOf(copy) >= 22 || hourOf(copy) < 2)).toBe(true);
  expect(copies.filter(({ at }) => at >= start + 36 * hour && at < start + 60 * hour).length).toBe(50);
});

test("a verification waits until no copy is due", () => {
  const verify = { ...one, verify: true };
  expect(dueWork(now, [verify, { ...one, node: "b", origin: "archive" }]).map(({ kind }) => kind)).toEqual([
    "copy",
    "verify",
  ]);
});
