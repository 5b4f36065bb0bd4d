import type { GroupReport } from "@moorage/contract/agent";
import { describe, expect, test } from "vitest";
import { agreedPrimary, type Course, nextTurn, type RollingMember, type Turn } from "./order.ts";

const NAMES = ["zero", "one", "two"] as const;
type Name = (typeof NAMES)[number];

const inGroup = (primary: Name, view = "7"): GroupReport => ({
  ...{ state: "online", view, primary, online: 3, shared: true },
});
const away: GroupReport = { state: "away", online: 0, shared: false };

/** All three healthy, led by the first, and none told yet, but for what is said otherwise. */
const cluster = (primary: Name, changed: Partial<Record<Name, Partial<RollingMember>>> = {}): RollingMember[] =>
  NAMES.map((node, ordinal) => ({
    ...{ node, ordinal, told: false, progress: { state: "observed" }, group: inGroup(primary) },
    ...changed[node],
  }));

const inTime: Course = { direction: "forward", stepIsLate: false, timeIsShort: false, canPause: false };
const back: Course = { ...inTime, direction: "back" };
const told = { told: true } as const;
const pending = { told: true, progress: { state: "pending" } } as const;
const failed = { told: true, progress: { state: "failed", message: "no such image" } } as const;

/** Every step of a change, if each host follows at once and another leads as soon as it is asked to. */
function walk(members: RollingMember[], course: Course): string[] {
  const steps: string[] = [];
  for (let turn: Turn = nextTurn(members, course); turn.turn !== "end"; turn = nextTurn(members, course)) {
    if (turn.turn === "change") {
      const { node } = turn;
      steps.push(node);
      for (const member of members)
        if (member.node === node) Object.assign(member, { told: true, progress: { state: "observed" } });
    } else if (turn.turn === "switch") {
      steps.push("switch");
      const primary = agreedPrimary(members);
      const next = NAMES.find((name) => name !== primary) as Name;
      for (const member of members) member.group = inGroup(next);
    } else throw new Error(`It does not go on: ${turn.turn}.`);
    if (steps.length > 9) throw new Error(steps.join(", "));
  }
  return steps;
}

describe("the order", () => {
  test.each([
    ["zero", ["one", "two", "switch", "zero"]],
    ["one", ["zero", "two", "switch", "one"]],
    ["two", ["zero", "one", "switch", "two"]],
  ] as const)("led by %s: the secondaries by their ordinals, then another leads, then it", (primary, steps) => {
    expect(walk(cluster(primary), inTime)).toEqual(steps);
  });

  test("a member that has it already is left alone", () => {
    expect(walk(cluster("zero", { one: told }), inTime)).toEqual(["two", "switch", "zero"]);
    expect(walk(cluster("zero", { zero: told }), inTime)).toEqual(["one", "two"]);
    expect(nextTurn(cluster("zero", { zero: told, one: told, two: told }), inTime)).toEqual({
      ...{ turn: "end", done: true },
    });
  });

  test("a failover in the middle changes it: whoever leads now is the last", () => {
    expect(walk(cluster("one", { one: told, two: told }), inTime)).toEqual(["zero"]);
    expect(walk(cluster("two", { one: told }), inTime)).toEqual(["zero", "switch", "two"]);
  });
});

describe("three healthy members before every step", () => {
  const elsewhere: [string, GroupReport | null][] = [
    ["one that never reported", null],
    ["one whose server does not answer", away],
    ["one that is recovering", { ...inGroup("zero"), state: "recovering" }],
    ["one that counts two", { ...inGroup("zero"), online: 2 }],
    ["one that nobody confirms", { ...inGroup("zero"), shared: false }],
    ["one in another view", inGroup("zero", "6")],
    ["one that calls another the primary", inGroup("two")],
  ];
  test.each(elsewhere)("%s is waited for", (_name, group) => {
    expect(nextTurn(cluster("zero", { two: { group } }), inTime)).toEqual({ turn: "wait" });
    expect(nextTurn(cluster("zero", { one: told, two: { ...told, group } }), inTime)).toEqual({ turn: "wait" });
    const last = cluster("zero", { zero: told, one: told, two: { ...told, group } });
    expect(nextTurn(last, inTime)).toEqual({ turn: "wait" });
  });

  test("a member that follows is waited for, and nobody else is told meanwhile", () => {
    expect(nextTurn(cluster("zero", { one: pending }), inTime)).toEqual({ turn: "wait" });
  });

  test("at the end of the time, three that have it are enough, whatever their group says", () => {
    const group = { ...told, group: away };
    expect(nextTurn(cluster("zero", { zero: told, one: told, two: group }), { ...inTime, timeIsShort: true })).toEqual({
      ...{ turn: "end", done: true },
    });
  });
});

describe("what stops it", () => {
  test("a member that fails, or is late with its step, turns it back", () => {
    expect(nextTurn(cluster("zero", { one: failed }), inTime)).toEqual({ turn: "back", why: "no such image" });
    expect(nextTurn(cluster("zero", { one: pending }), { ...inTime, stepIsLate: true })).toMatchObject({
      turn: "back",
    });
  });

  test("one that has followed and fails afterwards turns it back too", () => {
    expect(nextTurn(cluster("zero", { one: failed, two: pending }), inTime)).toMatchObject({ turn: "back" });
  });

  test("too little time for the next: what can wait ends here, what cannot goes back", () => {
    const short = { ...inTime, timeIsShort: true };
    for (const members of [
      cluster("zero"),
      cluster("zero", { one: told }),
      cluster("zero", { one: told, two: told }),
    ]) {
      expect(nextTurn(members, { ...short, canPause: true })).toMatchObject({ turn: "end", done: false });
      expect(nextTurn(members, short)).toMatchObject({ turn: "back" });
    }
  });

  test("a step that is under way when time is short is waited for", () => {
    const short = { ...inTime, timeIsShort: true, canPause: true };
    expect(nextTurn(cluster("zero", { one: pending }), short)).toEqual({ turn: "wait" });
  });
});

describe("the way back", () => {
  test("is as careful: secondaries, another leads, the primary; those that never left stay", () => {
    expect(walk(cluster("zero", { zero: told, two: told }), back)).toEqual(["one"]);
    expect(walk(cluster("one", { zero: told }), back)).toEqual(["two", "switch", "one"]);
  });

  test("the broken one is mended first, without waiting for three healthy", () => {
    const broken = { progress: { state: "failed", message: "no such image" }, group: away } as const;
    const others = { group: { ...inGroup("zero"), online: 2 } };
    const members = cluster("zero", { zero: { ...told, ...others }, one: others, two: broken });
    expect(nextTurn(members, back)).toEqual({ turn: "change", node: "two" });
    const mending = cluster("zero", { zero: { ...told, ...others }, one: others, two: { ...pending, group: away } });
    expect(nextTurn(mending, back)).toEqual({ turn: "wait" });
  });

  test("one that serves in its group waits for three healthy, though its host could not follow", () => {
    const hangs = { progress: { state: "failed", message: "no room" } } as const;
    const members = cluster("zero", { zero: told, one: { ...told, group: away }, two: hangs });
    expect(nextTurn(members, back)).toEqual({ turn: "wait" });
  });

  test("ends without success when all are as before, and when one cannot even do that", () => {
    const all = { zero: told, one: told, two: told };
    expect(nextTurn(cluster("zero", all), back)).toMatchObject({ turn: "end", done: false });
    expect(nextTurn(cluster("zero", { ...all, two: failed }), back)).toMatchObject({ turn: "end", done: false });
    expect(nextTurn(cluster("zero", { one: pending }), { ...back, stepIsLate: true })).toMatchObject({
      ...{ turn: "end", done: false },
    });
    expect(nextTurn(cluster("zero", { one: told }), { ...back, timeIsShort: true })).toMatchObject({
      ...{ turn: "end", done: false },
    });
  });

  test("never turns again", () => {
    const states = [told, pending, failed, {}, { group: away }];
    for (const one of states)
      for (const two of states)
        for (const stepIsLate of [true, false])
          for (const timeIsShort of [true, false]) {
            const turn = nextTurn(cluster("zero", { one, two }), { ...back, stepIsLate, timeIsShort });
            expect(turn.turn).not.toBe("back");
            expect(turn).not.toMatchObject({ done: true });
          }
  });
});
