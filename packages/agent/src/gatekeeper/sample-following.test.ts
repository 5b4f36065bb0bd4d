import { mayBePrimary, mayServeReads, type MemberView, serverUuidOf } from "@moorage/contract/agent";
import { describe, expect, test } from "vitest";
import { type FollowingRow, readFollowing } from "./sample-following.ts";

const group = "8d3c1f6e-0000-4000-8000-00000000000a";
const [a, b, c] = ["a", "b", "c"] as [string, string, string];
const addressOf = (node: string): string => `10.0.0.${[a, b, c].indexOf(node) + 1}`;
const members = [a, b, c].map((node, ordinal) => ({ node, ordinal, host: `host-${node}`, address: addressOf(node) }));
const uuid = serverUuidOf(group, "0123456789abcdef");

const quiet = { source: null, receiving: null, applying: null, received: null, follower: null };
const open = (...followers: string[]): FollowingRow[] =>
  [...followers.map(addressOf), ...(followers.length === 0 ? [null] : [])].map((follower) => ({
    ...quiet,
    uuid,
    closed: 0 as const,
    gtid: `${uuid}:1-9`,
    follower,
  }));
const following = (source: string, change: Partial<FollowingRow> = {}): FollowingRow[] => [
  {
    ...quiet,
    uuid,
    closed: 1,
    gtid: `${uuid}:1-8`,
    received: `${uuid}:1-9`,
    source: addressOf(source),
    receiving: "ON",
    applying: "ON",
    ...change,
  },
];
/** The view of a member as served by its host, which knows this primary in this term. */
const view = (node: string, rows: FollowingRow[], primaryNode = a, term = 3): MemberView => ({
  node,
  ageMs: 100,
  ...readFollowing(rows, { node, group, members, primary: { node: primaryNode, term } }),
});

test("an open primary is reported with the replicas that are connected", () => {
  expect(view(a, open(b, c, b))).toEqual({
    node: a,
    ageMs: 100,
    state: "online",
    role: "primary",
    view: "8d3c1f6e.3",
    primary: a,
    online: [a, b, c],
    writable: true,
    group,
    gtid: `${uuid}:1-9`,
    term: 3,
  });
  expect(view(a, open())).toMatchObject({ online: [a] });
});

test("a client of the binary log that is no member is not counted as a replica", () => {
  const [row] = open() as [FollowingRow];
  expect(view(a, [row, { ...row, follower: "localhost" }, { ...row, follower: "10.9.9.9" }]).online).toEqual([a]);
});

test("a replica that receives and applies is a secondary", () => {
  expect(view(b, following(a))).toEqual({
    node: b,
    ageMs: 100,
    state: "online",
    role: "secondary",
    view: "8d3c1f6e.3",
    primary: a,
    online: [b, a],
    writable: false,
    group,
    gtid: `${uuid}:1-8`,
    received: `${uuid}:1-9`,
    term: 3,
  });
});

test.each<[string, Partial<FollowingRow>]>([
  ["connects to its primary", { receiving: "CONNECTING" }],
  ["does not receive", { receiving: "OFF" }],
  ["does not apply", { applying: "OFF" }],
])("a replica that %s is recovering", (_, change) => {
  expect(view(b, following(a, change))).toMatchObject({ state: "recovering", view: "8d3c1f6e.3", primary: a });
});

test.each<[string, MemberView]>([
  ["a primary that is not open yet", view(a, following(b, { source: null, receiving: null, applying: null }))],
  ["a primary that still replicates from the previous one", view(a, following(b))],
  ["a member that replicates from another than the primary", view(b, following(c))],
  ["a member that does not replicate", view(b, following(a, { source: null }))],
  ["a former primary that is not closed yet", view(b, open(a, c))],
  [
    "a server of another timeline",
    view(
      a,
      open(b).map((row) => ({ ...row, uuid: "9e000000-1111-4111-8111-111111111111" })),
    ),
  ],
])("%s is in no view, and reports its term", (_, seen) => {
  expect(seen).toMatchObject({ state: "offline", online: [], term: 3 });
  expect([seen.view, seen.role, seen.primary]).toEqual([undefined, undefined, undefined]);
});

test("a server of an earlier timeline is not reported as one of this timeline", () => {
  expect(
    view(
      a,
      open().map((row) => ({ ...row, uuid: "9e000000-1111-4111-8111-111111111111" })),
    ).group,
  ).not.toBe(group);
});

test("clients are forwarded to the open primary that a member on another host follows in the same term", () => {
  const views = [view(a, open(b, c)), view(b, following(a)), view(c, following(a, { receiving: "CONNECTING" }))];
  expect([a, b, c].map((node) => mayBePrimary(node, views))).toEqual([true, false, false]);
  expect([a, b, c].map((node) => mayServeReads(node, views))).toEqual([false, true, false]);
});

describe("clients are not forwarded to a primary", () => {
  const [oldPrimary, follower] = [view(a, open(b, c)), view(b, following(a))];
  test.each<[string, MemberView[]]>([
    ["that has no replica", [view(a, open()), view(b, following(a, { receiving: "CONNECTING" }))]],
    ["whose replicas were lost", [view(a, open(b, c)), view(b, following(a, { receiving: "CONNECTING" }))]],
    ["that is cut off from its replicas", [oldPrimary, { ...follower, ageMs: 2001 }]],
    ["whose own host was last seen two seconds ago", [{ ...oldPrimary, ageMs: 2001 }, follower]],
    ["that is closed", [view(a, following(b, { source: null })), follower]],
    [
      "of a former term, when others know the next one",
      [oldPrimary, view(b, following(a), b, 4), view(c, following(a), b, 4)],
    ],
    [
      "of a former term, when others replicate from the next one, which is not open",
      [oldPrimary, view(b, following(a), b, 4), view(c, following(b), b, 4)],
    ],
    [
      "of a former term, whose replica learned of the next one a moment ago",
      [oldPrimary, { ...follower, ageMs: 400 }, view(b, following(a), b, 4)],
    ],
    ["of a former term, if it is primary again in the next one", [oldPrimary, view(b, following(a), a, 4)]],
    [
      "whose replicas are on another timeline",
      [oldPrimary, view(b, following(a, { uuid: "9e000000-1111-4111-8111-111111111111" }))],
    ],
  ])("%s", (_, views) => {
    expect(mayBePrimary(a, views)).toBe(false);
  });
});

test("clients are forwarded to the primary of the next term, not to an isolated former one", () => {
  const views = [view(a, open(b, c)), view(b, open(c), b, 4), view(c, following(b), b, 4)];
  expect([a, b, c].map((node) => mayBePrimary(node, views))).toEqual([false, true, false]);
});
