import type { GroupReport } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { chooseSuccessor } from "./choose-successor.ts";
import type { ObservedMember } from "./member-condition.ts";

const A = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const B = "3e11fa47-71ca-11e1-9e33-000000000001";
const outOfGroup: GroupReport = { state: "offline", online: 0, shared: false, term: 1 };

const member = (ordinal: number, change: Partial<ObservedMember> = {}): ObservedMember => ({
  node: `n${ordinal}`,
  ordinal,
  state: "working",
  message: null,
  report: null,
  unhealthySeconds: 2,
  host: { name: `host-${ordinal}`, dead: false, silentSeconds: 1 },
  ...change,
});
const primary = member(0, { report: { ...outOfGroup, state: "away", fenced: 1 } });
const has = (ordinal: number, gtid: string, change: Partial<ObservedMember> = {}) =>
  member(ordinal, { report: { ...outOfGroup, gtid }, ...change });
const silent = { host: { name: "h", dead: false, silentSeconds: 31 } };
const chosen = (followers: ObservedMember[], archived = "", endedSeconds = 2, polledSeconds = 1) => {
  const host = { ...primary.host, silentSeconds: polledSeconds };
  const next = chooseSuccessor([{ ...primary, host, unhealthySeconds: endedSeconds }, ...followers], "n0", archived);
  return typeof next === "string" ? next : next.node;
};

test.each<[name: string, followers: ObservedMember[], chosen: string]>([
  ["the one that has the most", [has(1, `${A}:1-5`), has(2, `${A}:1-7`)], "n2"],
  ["of two that have the same, the first", [has(2, `${A}:1-5`), has(1, `${A}:1-5`)], "n1"],
  ["counted over gaps and sources", [has(1, `${A}:1-5`), has(2, `${A}:1-3:9,${B}:1-2`)], "n2"],
  ["nobody, while one that is reachable has not reported", [has(1, `${A}:1-5`), member(2)], "wait"],
  ["not waiting for one whose host is silent", [has(1, `${A}:1-5`), member(2, silent)], "n1"],
  ["never one that only a silent host reported", [has(1, `${A}:1-5`), has(2, `${A}:1-9`, silent)], "n1"],
  ["never one that is to be re-cloned", [has(1, `${A}:1-5`), has(2, `${A}:1-9`, { recloning: true })], "n1"],
  ["never one that failed", [has(1, `${A}:1-5`), has(2, `${A}:1-9`, { state: "failed" })], "n1"],
  [
    "never one with errant transactions",
    [has(1, `${A}:1-5`), member(2, { report: { ...outOfGroup, gtid: `${A}:1-9`, errant: `${A}:9` } })],
    "n1",
  ],
])("%s", (_name, followers, expected) => {
  expect(chosen(followers)).toBe(expected);
});

test("ten seconds after the primary's end no member is waited for, however healthy it seems", () => {
  const unreported = member(2, { unhealthySeconds: 0 });
  expect(chosen([has(1, `${A}:1-5`), unreported], "", 9)).toBe("wait");
  expect(chosen([has(1, `${A}:1-5`), unreported], "", 10)).toBe("n1");
});

test("a host that polled ten seconds ago has reported that its server ended, but not when", () => {
  expect(chosen([member(1), member(2)], "", 0, 12)).toBe("wait");
  expect(chosen([has(1, `${A}:1-5`), member(2)], "", 0, 31)).toBe("n1");
});

test("the same node is primary again if no other answers", () => {
  expect(chosen([member(1, silent), member(2)], "", 10)).toBe("again");
});

test("no node that lacks archived transactions becomes primary", () => {
  expect(chosen([has(1, `${A}:1-5`), has(2, `${A}:1-4`)], `${A}:1-6`)).toBe("restore");
  expect(chosen([has(1, `${A}:1-5`), has(2, `${A}:1-4`)], `${A}:1-5`)).toBe("n1");
});
