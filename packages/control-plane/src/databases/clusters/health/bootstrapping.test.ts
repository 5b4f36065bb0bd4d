import type { GroupReport } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { texts } from "../texts.ts";
import { type BootstrapMember, membersToCount, nextOfBootstrap, nextOfFollowing } from "./bootstrapping.ts";

const GROUP = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const outOfGroup = (last: number, change: Partial<GroupReport> = {}): GroupReport => ({
  state: "offline",
  online: 0,
  shared: false,
  gtid: `${GROUP}:1-${last}`,
  ...change,
});
const online: GroupReport = { state: "online", online: 3, shared: true };
const isolated: GroupReport = { state: "online", online: 1, shared: false };

const member = (ordinal: number, change: Partial<BootstrapMember> = {}): BootstrapMember => ({
  node: `n${ordinal}`,
  ordinal,
  dead: false,
  followed: true,
  state: "working",
  report: outOfGroup(5),
  bootstrap: undefined,
  staysOut: true,
  ...change,
});
const running = (ordinal: number, report: GroupReport) => member(ordinal, { state: "running", report });
const three = (...changes: Partial<BootstrapMember>[]): BootstrapMember[] =>
  [0, 1, 2].map((ordinal) => member(ordinal, changes[ordinal]));

const dead = { dead: true, followed: false, report: null } as const;
const permitted = { bootstrap: "p" } as const;
const free = { staysOut: false } as const;

test.each<[what: string, members: BootstrapMember[], acceptsLoss: boolean, next: object]>([
  ["equals: the first bootstraps", three(), false, { do: "bootstrap", node: "n0" }],
  ["the most advanced bootstraps", three({}, { report: outOfGroup(7) }, {}), false, { do: "bootstrap", node: "n1" }],
  [
    "one in an error has reported what it has",
    three({ report: outOfGroup(9, { state: "error" }) }),
    false,
    { do: "bootstrap", node: "n0" },
  ],
  ["one has not reported that its permission is gone", three({}, {}, { followed: false }), false, { do: "wait" }],
  [
    "one has not reported what it has",
    three({ report: { state: "away", online: 0, shared: false } }),
    false,
    { do: "wait" },
  ],
  ["one has not reported", three({ report: null }), false, { do: "wait" }],
  [
    "one is in a group, as its host has not reported the order to stay out",
    three({ followed: false, report: isolated }),
    false,
    { do: "wait" },
  ],
  ["one is in a group: the others may join it", three({ report: isolated }), false, { do: "release" }],
  [
    "one is in a group, and the others join it",
    three(free, free, { ...free, report: isolated }),
    false,
    { do: "wait" },
  ],
  ["one may have joined a group since its report", three({}, free, {}), false, { do: "withdraw" }],
  ["one is joining a group", three({ report: { ...isolated, state: "recovering" } }), false, { do: "wait" }],
  ["a permission is out, and not used yet", three(permitted), false, { do: "wait" }],
  [
    "a permission was used, and the group is gone",
    three({ ...permitted, report: outOfGroup(5, { bootstrapped: "p" }) }),
    false,
    { do: "withdraw" },
  ],
  [
    "another permission was used long ago",
    three({ report: outOfGroup(5, { bootstrapped: "o" }) }),
    false,
    { do: "bootstrap", node: "n0" },
  ],
  ["a dead host is waited for", three({}, {}, dead), false, { do: "wait" }],
  [
    "a dead host is not waited for when its loss is accepted",
    three({}, { report: outOfGroup(7) }, dead),
    true,
    { do: "bootstrap", node: "n1" },
  ],
  ["a host that is not dead is waited for all the same", three({}, { followed: false }, dead), true, { do: "wait" }],
  ["the only one that is left bootstraps", three(dead, {}, dead), true, { do: "bootstrap", node: "n1" }],
  ["nobody is left", three(dead, dead, dead), true, { do: "fail", why: texts.bootstrapNoNodeLeft() }],
  [
    "each has something that another lacks",
    three(
      { report: outOfGroup(7) },
      { report: outOfGroup(5, { gtid: `${GROUP}:1-5,7c2a1d0e-0000-4000-8000-000000000001:1` }) },
    ),
    false,
    { do: "fail", why: texts.bootstrapNodesDiverged() },
  ],
  ["all are in it", [running(0, online), running(1, online), running(2, online)], false, { do: "done" }],
  [
    "two are in it, one is joining",
    [running(0, online), running(1, online), member(2, free)],
    false,
    { do: "release" },
  ],
  [
    "two are in it, and one cannot join with what it has",
    [running(0, online), running(1, online), member(2, { report: outOfGroup(9, { errant: "a:1" }) })],
    false,
    { do: "done" },
  ],
  [
    "the only one that is left is in it",
    [member(0, dead), running(1, isolated), member(2, dead)],
    true,
    { do: "done" },
  ],
  ["of two that are left, one is in it", [member(0, dead), running(1, isolated), member(2)], true, { do: "release" }],
])("%s", (_, members, acceptsLoss, next) => {
  expect(nextOfBootstrap(members, membersToCount(members, { acceptsLoss, wasSuspended: false }))).toMatchObject(next);
});

test.each<[what: string, members: BootstrapMember[], next: object]>([
  ["nobody bootstraps where there is a primary", three(), { do: "wait" }],
  ["two are together, the third is not", [running(0, online), running(1, online), member(2)], { do: "wait" }],
  ["all are together", [0, 1, 2].map((ordinal) => running(ordinal, online)), { do: "done" }],
  [
    "one that can never replicate is not waited for",
    [
      running(0, online),
      running(1, online),
      member(2, { report: outOfGroup(5, { unusable: "It lacks what was purged." }) }),
    ],
    { do: "done" },
  ],
])("asynchronous cluster: %s", (_, members, next) => {
  expect(nextOfFollowing(members)).toEqual(next);
});

test("after a suspension two members are enough, if the host of the third is dead", () => {
  const stopped = { acceptsLoss: false, wasSuspended: true };
  const oneDead = three(dead, { report: outOfGroup(4) }, { report: outOfGroup(7) });
  const twoDead = three(dead, dead, {});
  const oneSilent = three({ followed: false });

  expect(nextOfBootstrap(oneDead, membersToCount(oneDead, stopped))).toMatchObject({ do: "bootstrap", node: "n2" });
  expect(nextOfBootstrap(oneDead, membersToCount(oneDead, { ...stopped, wasSuspended: false }))).toEqual({
    do: "wait",
  });
  for (const members of [twoDead, oneSilent])
    expect(nextOfBootstrap(members, membersToCount(members, stopped))).toEqual({ do: "wait" });
});
