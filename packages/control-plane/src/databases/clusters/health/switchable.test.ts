import type { GroupReport } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import type { ObservedMember } from "../member-condition.ts";
import { texts } from "../texts.ts";
import { choosePrimary } from "./switch-activities.ts";

const member = (ordinal: number, change: Partial<GroupReport> = {}, silentSeconds = 1): ObservedMember => ({
  node: `n${ordinal}`,
  ordinal,
  state: "running",
  message: null,
  unhealthySeconds: 0,
  host: { name: `host-${ordinal}`, dead: false, silentSeconds, unseenSeconds: silentSeconds },
  report: { state: "online", online: 3, shared: true, primary: "n0", view: "v", backlog_seconds: 0, ...change },
});

test("the secondary with the shortest backlog is next, of equals the first", () => {
  expect(choosePrimary([member(0), member(1), member(2)])).toEqual({ to: "n1" });
  expect(choosePrimary([member(0), member(1, { backlog_seconds: 3 }), member(2, { backlog_seconds: 2 })])).toEqual({
    to: "n2",
  });
  const third = { primary: "n1" };
  expect(choosePrimary([member(0, third), member(1, third), member(2, third)])).toEqual({ to: "n0" });
});

test.each([
  [
    "one is not in the group",
    [member(0), member(1), member(2, { state: "recovering" })],
    texts.nodesUnhealthy({ healthy: 2 }),
  ],
  [
    "one shares its view with nobody",
    [member(0), member(1), member(2, { shared: false })],
    texts.nodesUnhealthy({ healthy: 2 }),
  ],
  ["the host of one is unreachable", [member(0), member(1), member(2, {}, 31)], texts.nodesUnhealthy({ healthy: 2 })],
  ["they name different primaries", [member(0), member(1), member(2, { primary: "n1" })], texts.noAgreedPrimary()],
  [
    "both have too much to apply",
    [member(0), member(1, { backlog_seconds: 5.5 }), member(2, { backlog_seconds: 9 })],
    texts.replicasBehind({ seconds: 6, most: 5 }),
  ],
])("a switchover is impossible when %s", (_, members, refused) => {
  expect(choosePrimary(members)).toEqual({ refused });
});

test("a backlog up to the limit does not prevent a switchover", () => {
  const behind = { backlog_seconds: 5 };
  expect(choosePrimary([member(0), member(1, behind), member(2, behind)])).toEqual({ to: "n1" });
});
