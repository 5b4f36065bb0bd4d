import type { MemberView, PrimaryTerm } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import type { ClusterViews } from "../../gatekeeper/gatekeeper-client.ts";
import type { FollowingDecision } from "./decide-following.ts";
import { transactionsOf } from "./report-following.ts";

const gtid = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5";
const primary: PrimaryTerm = { node: "n0", term: 4, reason: "fenced" };
const cluster = { replication: "asynch" as const, group: "g", members: [], members_version: 1, primary };
const serving: MemberView = {
  node: "n0",
  ageMs: 100,
  state: "online",
  role: "primary",
  online: [],
  writable: true,
  term: 4,
};
const unknown: MemberView = { node: "n1", ageMs: 0, state: "offline", online: [], writable: false };
const waits: FollowingDecision = { kind: "wait", for: "the primary to accept the connection" };

/** What a replica reports whose host sees the primary so. */
const reported = (
  change: Partial<MemberView> = {},
  {
    receiving = "connecting",
    decision = waits,
  }: { receiving?: "on" | "connecting" | "off"; decision?: FollowingDecision } = {},
) => {
  const own = {
    open: false,
    source: "n0",
    hasRoomAgain: false,
    receiving,
    applying: true,
    gtid,
    isApplied: true,
    isPurged: false,
  };
  const views: ClusterViews = { own: unknown, others: [{ ...serving, ...change }] };
  const seen = { own: { ...own, backlogSeconds: 0 }, views, facts: { own, used: {} } };
  return transactionsOf({ cluster }, seen, decision, undefined);
};

test.each<[name: string, change: Partial<MemberView>]>([
  ["its server is unreachable", { state: "away", writable: false, role: undefined }],
  ["its host is not heard", { ageMs: 5000 }],
  ["it is closed", { writable: false }],
  ["its host knows an older term only", { term: 3 }],
])("a replica reports its transactions once its primary has ended: %s", (_name, change) => {
  expect(reported(change)).toEqual({ gtid });
});

test.each(["connecting", "off"] as const)(
  "a replica that is %s reports no transactions while its primary accepts writes: it will receive more",
  (receiving) => {
    expect(reported({}, { receiving })).toEqual({});
  },
);

test("errant transactions are reported while the primary accepts writes: it lacks them", () => {
  const decision: FollowingDecision = { kind: "errant", transactions: gtid };
  expect(reported({}, { receiving: "off", decision })).toEqual({ gtid, errant: gtid });
});
