import type { GroupReport } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { chooseSuccessor } from "./choose-successor.ts";
import type { ObservedMember } from "../member-condition.ts";

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
  host: { name: `host-${ordinal}`, dead: false, silentSeconds: 1, unseenSeconds: 1 },
  ...change,
});
const primary = member(0, { report: { ...outOfGroup, state: "away", fenced: 1 } });
const has = (ordinal: number, gtid: string, change: Partial<ObservedMember> = {}) =>
  member(ordinal, { report: { ...outOfGroup, gtid }, ...change });
const silent = { host: { name: "h", dead: false, silentSeconds: 31, unseenSeconds: 31 } };
const unseen = { host: { name: "h", dead: false, silentSeconds: 20, unseenSeconds: 3600 } };
const late = { host: { name: "h", dead: false, silentSeconds: 13, unseenSeconds: 13 } };
const ofTerm = (ordinal: number, last_term: number, gtid: string) =>
  member(ordinal, { report: { ...outOfGroup, last_term, gtid } });
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
  [
    "nobody, while a host that reported has missed its poll since",
    [has(1, `${A}:1-5`), has(2, `${A}:1-3`, late)],
    "wait",
  ],
  ["not waiting for one whose host is silent", [has(1, `${A}:1-5`), member(2, silent)], "n1"],
  ["never one that only a silent host reported", [has(1, `${A}:1-5`), has(2, `${A}:1-9`, silent)], "n1"],
  ["never one that is to be re-cloned", [has(1, `${A}:1-5`), has(2, `${A}:1-9`, { recloning: true })], "n1"],
  // The control plane came up 20 s ago: what it was told before is old.
  [
    "nobody, while a host has not polled since our own outage",
    [has(1, `${A}:1-5`), has(2, `${A}:1-9`, unseen)],
    "wait",
  ],
  ["never one that failed", [has(1, `${A}:1-5`), has(2, `${A}:1-9`, { state: "failed" })], "n1"],
  [
    "never one with errant transactions",
    [has(1, `${A}:1-5`), member(2, { report: { ...outOfGroup, gtid: `${A}:1-9`, errant: `${A}:9` } })],
    "n1",
  ],
  [
    "the one of the newest term, though a former primary has more",
    [ofTerm(1, 1, `${A}:1-9`), ofTerm(2, 2, `${A}:1-5,${B}:1-2`)],
    "n2",
  ],
  ["of one term, the one that has the most", [ofTerm(1, 2, `${A}:1-5`), ofTerm(2, 2, `${A}:1-7`)], "n2"],
  ["a former primary, if nobody else answers", [ofTerm(1, 1, `${A}:1-9`), member(2, silent)], "n1"],
  [
    "the one that has the most, while a host does not report terms yet",
    [ofTerm(1, 2, `${A}:1-5`), has(2, `${A}:1-9`)],
    "n2",
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

test("what other members of its term have and the chosen one lacks is counted", () => {
  const followers = [ofTerm(1, 2, `${A}:1-5,${B}:1-4`), ofTerm(2, 2, `${A}:1-7,${B}:1`)];
  expect(chooseSuccessor([primary, ...followers], "n0", "")).toEqual({
    node: "n1",
    ordinal: 1,
    lacks: 2,
    lastTerm: 2,
  });
  const former = [ofTerm(1, 1, `${A}:1-9`), ofTerm(2, 2, `${A}:1-5`)];
  expect(chooseSuccessor([primary, ...former], "n0", "")).toMatchObject({ node: "n2", lacks: 0 });
});
