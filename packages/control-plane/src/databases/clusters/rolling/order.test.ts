import { agreedPrimary, type GroupReport } from "@moorage/contract/agent";
import { describe, expect, test } from "vitest";
import { type Course, nextStep, type RollingMember, type RollStep } from "./roll.ts";

const NAMES = ["zero", "one", "two"] as const;
type Name = (typeof NAMES)[number];

const inGroup = (primary: Name, view = "7"): GroupReport => ({
  state: "online",
  view,
  primary,
  online: 3,
  shared: true,
});
const away: GroupReport = { state: "away", online: 0, shared: false };

/** All three healthy, the first one primary, and none changed yet, except for the overrides. */
const cluster = (primary: Name, changed: Partial<Record<Name, Partial<RollingMember>>> = {}): RollingMember[] =>
  NAMES.map((node, ordinal) => ({
    node,
    ordinal,
    sent: false,
    progress: { state: "observed" },
    group: inGroup(primary),
    ...changed[node],
  }));

const inTime: Course = { direction: "forward", stepIsLate: false, timeIsShort: false, canPause: false };
const back: Course = { ...inTime, direction: "back" };
const sent = { sent: true } as const;
const pending = { sent: true, progress: { state: "pending" } } as const;
const failed = { sent: true, progress: { state: "failed", message: "no such image" } } as const;

/** Every step of a change, if each host applies it at once and every switchover succeeds at once. */
function walk(members: RollingMember[], course: Course): string[] {
  const steps: string[] = [];
  for (let step: RollStep = nextStep(members, course); step.step !== "end"; step = nextStep(members, course)) {
    if (step.step === "change") {
      const { node } = step;
      steps.push(node);
      for (const member of members)
        if (member.node === node) Object.assign(member, { sent: true, progress: { state: "observed" } });
    } else if (step.step === "switch") {
      steps.push("switch");
      const primary = agreedPrimary(members.map(({ node, group }) => ({ node, report: group })));
      const next = NAMES.find((name) => name !== primary) as Name;
      for (const member of members) member.group = inGroup(next);
    } else throw new Error(`It does not continue: ${step.step}.`);
    if (steps.length > 9) throw new Error(steps.join(", "));
  }
  return steps;
}

test("while all members are out of a group, it is bootstrapped before anything else", () => {
  const apart: GroupReport = { state: "offline", online: 0, shared: false, gtid: "a:1-5" };
  const all = cluster("zero", { zero: { group: apart }, one: { group: apart, ...pending }, two: { group: apart } });
  expect(nextStep(all, inTime)).toEqual({ step: "bootstrap" });
  expect(nextStep(all, { ...inTime, stepIsLate: true })).toEqual({ step: "bootstrap" });
  expect(nextStep(all, { ...inTime, stepIsLate: true, timeIsShort: true })).toMatchObject({ step: "back" });
  // One of them may still be in a group.
  const two = cluster("zero", { zero: { group: apart }, one: { group: apart, ...pending }, two: { group: away } });
  expect(nextStep(two, inTime)).toEqual({ step: "wait" });
  // The control plane promotes the primary of an asynchronous cluster.
  const terms = NAMES.map(
    (node, ordinal): RollingMember => ({
      node,
      ordinal,
      sent: false,
      progress: { state: "observed" },
      group: { ...apart, term: 3 },
    }),
  );
  expect(nextStep(terms, inTime)).toEqual({ step: "wait" });
});

describe("the order", () => {
  test.each([
    ["zero", ["one", "two", "switch", "zero"]],
    ["one", ["zero", "two", "switch", "one"]],
    ["two", ["zero", "one", "switch", "two"]],
  ] as const)("primary %s: secondaries by ordinal, then a switchover, then the old primary", (primary, steps) => {
    expect(walk(cluster(primary), inTime)).toEqual(steps);
  });

  test("a member that has the change already is skipped", () => {
    expect(walk(cluster("zero", { one: sent }), inTime)).toEqual(["two", "switch", "zero"]);
    expect(walk(cluster("zero", { zero: sent }), inTime)).toEqual(["one", "two"]);
    expect(nextStep(cluster("zero", { zero: sent, one: sent, two: sent }), inTime)).toEqual({
      step: "end",
      done: true,
    });
  });

  test("after a failover in the middle the new primary is the last", () => {
    expect(walk(cluster("one", { one: sent, two: sent }), inTime)).toEqual(["zero"]);
    expect(walk(cluster("two", { one: sent }), inTime)).toEqual(["zero", "switch", "two"]);
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
    expect(nextStep(cluster("zero", { two: { group } }), inTime)).toEqual({ step: "wait" });
    expect(nextStep(cluster("zero", { one: sent, two: { ...sent, group } }), inTime)).toEqual({ step: "wait" });
    const last = cluster("zero", { zero: sent, one: sent, two: { ...sent, group } });
    expect(nextStep(last, inTime)).toEqual({ step: "wait" });
  });

  test("a member that is being changed is waited for, and no other starts meanwhile", () => {
    expect(nextStep(cluster("zero", { one: pending }), inTime)).toEqual({ step: "wait" });
  });

  test("at the deadline three changed members are enough, whatever their group reports", () => {
    const group = { ...sent, group: away };
    expect(nextStep(cluster("zero", { zero: sent, one: sent, two: group }), { ...inTime, timeIsShort: true })).toEqual({
      step: "end",
      done: true,
    });
  });
});

describe("what stops it", () => {
  test("a member that fails, or is late with its step, causes a rollback", () => {
    expect(nextStep(cluster("zero", { one: failed }), inTime)).toEqual({
      step: "back",
      why: { code: "database.host_reported", text: "no such image" },
    });
    expect(nextStep(cluster("zero", { one: pending }), { ...inTime, stepIsLate: true })).toMatchObject({
      step: "back",
    });
  });

  test("a member that fails after its change causes a rollback too", () => {
    expect(nextStep(cluster("zero", { one: failed, two: pending }), inTime)).toMatchObject({ step: "back" });
  });

  test("with too little time for the next member, a change that can pause ends here, any other is rolled back", () => {
    const short = { ...inTime, timeIsShort: true };
    for (const members of [
      cluster("zero"),
      cluster("zero", { one: sent }),
      cluster("zero", { one: sent, two: sent }),
    ]) {
      expect(nextStep(members, { ...short, canPause: true })).toMatchObject({ step: "end", done: false });
      expect(nextStep(members, short)).toMatchObject({ step: "back" });
    }
  });

  test("a step that is under way when time is short is waited for", () => {
    const short = { ...inTime, timeIsShort: true, canPause: true };
    expect(nextStep(cluster("zero", { one: pending }), short)).toEqual({ step: "wait" });
  });
});

describe("the way back", () => {
  test("goes in the same order: secondaries, switchover, primary; unchanged members are skipped", () => {
    expect(walk(cluster("zero", { zero: sent, two: sent }), back)).toEqual(["one"]);
    expect(walk(cluster("one", { zero: sent }), back)).toEqual(["two", "switch", "one"]);
  });

  test("the broken member is repaired first, without waiting for three healthy ones", () => {
    const broken = { progress: { state: "failed", message: "no such image" }, group: away } as const;
    const others = { group: { ...inGroup("zero"), online: 2 } };
    const members = cluster("zero", { zero: { ...sent, ...others }, one: others, two: broken });
    expect(nextStep(members, back)).toEqual({ step: "change", node: "two" });
    const repairing = cluster("zero", { zero: { ...sent, ...others }, one: others, two: { ...pending, group: away } });
    expect(nextStep(repairing, back)).toEqual({ step: "wait" });
  });

  test("a member that serves waits for three healthy ones, although its host could not apply the change", () => {
    const hangs = { progress: { state: "failed", message: "no room" } } as const;
    const members = cluster("zero", { zero: sent, one: { ...sent, group: away }, two: hangs });
    expect(nextStep(members, back)).toEqual({ step: "wait" });
  });

  test("ends without success when all are as before, and when one cannot go back", () => {
    const all = { zero: sent, one: sent, two: sent };
    expect(nextStep(cluster("zero", all), back)).toMatchObject({ step: "end", done: false });
    expect(nextStep(cluster("zero", { ...all, two: failed }), back)).toMatchObject({ step: "end", done: false });
    expect(nextStep(cluster("zero", { one: pending }), { ...back, stepIsLate: true })).toMatchObject({
      step: "end",
      done: false,
    });
    expect(nextStep(cluster("zero", { one: sent }), { ...back, timeIsShort: true })).toMatchObject({
      step: "end",
      done: false,
    });
  });

  test("never turns again", () => {
    const states = [sent, pending, failed, {}, { group: away }];
    for (const one of states)
      for (const two of states)
        for (const stepIsLate of [true, false])
          for (const timeIsShort of [true, false]) {
            const step = nextStep(cluster("zero", { one, two }), { ...back, stepIsLate, timeIsShort });
            expect(step.step).not.toBe("back");
            expect(step).not.toMatchObject({ done: true });
          }
  });
});
