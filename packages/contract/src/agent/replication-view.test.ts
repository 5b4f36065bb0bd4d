import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSharedBy, type MemberView, mayBePrimary, mayServeReads, primaryOf } from "./replication-view.ts";

const all = ["a", "b", "c"];
const primary = (change: Partial<MemberView> = {}): MemberView => ({
  node: "a",
  ageMs: 100,
  state: "online",
  role: "primary",
  view: "v:3",
  primary: "a",
  online: all,
  writable: true,
  ...change,
});
const secondary = (change: Partial<MemberView> = {}): MemberView =>
  primary({ node: "b", role: "secondary", writable: false, ...change });

test("clients are forwarded to a primary whose view a member on another host shares", () => {
  expect(mayBePrimary("a", [primary(), secondary()])).toBe(true);
  expect(mayBePrimary("a", [primary({ online: ["a", "b"] }), secondary({ online: ["a", "b"] })])).toBe(true);
  expect(mayBePrimary("a", [primary(), secondary({ ageMs: 2001 }), secondary({ node: "c", ageMs: 2000 })])).toBe(true);
});

describe("clients are not forwarded to a member", () => {
  test.each<[string, MemberView[]]>([
    ["that nobody else confirms", [primary()]],
    ["that was never seen", [secondary(), secondary({ node: "c" })]],
    ["that was last seen more than two seconds ago", [primary({ ageMs: 2001 }), secondary()]],
    ["whose others were last seen more than two seconds ago", [primary(), secondary({ ageMs: 2001 })]],
    ["that is a secondary", [secondary({ node: "a" }), secondary()]],
    ["that is not in the group", [primary({ state: "error" }), secondary()]],
    ["that is recovering", [primary({ state: "recovering" }), secondary()]],
    ["that does not answer", [primary({ state: "away" }), secondary()]],
    ["that takes no writes", [primary({ writable: false }), secondary()]],
    ["that sees no majority", [primary({ online: ["a"] }), secondary()]],
    ["that calls another the primary", [primary({ primary: "b" }), secondary()]],
    ["that is in no view", [primary({ view: undefined }), secondary({ view: undefined })]],
    ["whose others are in another view", [primary(), secondary({ view: "v:4" })]],
    ["whose others call another the primary", [primary(), secondary({ primary: "c" })]],
    [
      "whose others left the group",
      [primary(), secondary({ state: "error" }), secondary({ node: "c", state: "away" })],
    ],
    ["whose other sees no majority", [primary(), secondary({ online: ["b"] })]],
    [
      "that was well a moment ago and is not now",
      [primary({ ageMs: 300 }), primary({ ageMs: 50, writable: false }), secondary()],
    ],
    [
      "that others left a moment ago",
      [primary(), secondary({ ageMs: 300 }), secondary({ ageMs: 50, view: "v:4", primary: "c" })],
    ],
  ])("%s", (_, views) => {
    expect(mayBePrimary("a", views)).toBe(false);
  });
});

test("a member that joins or leaves moves no client, even if two hosts' samples straddle the change", () => {
  const before = primary({ ageMs: 400 });
  expect(mayBePrimary("a", [before, primary({ ageMs: 150, view: "v:4" }), secondary({ ageMs: 200 })])).toBe(true);
  expect(mayBePrimary("a", [before, secondary({ ageMs: 450 }), secondary({ ageMs: 100, view: "v:4" })])).toBe(true);
  // But not for longer than two seconds.
  expect(mayBePrimary("a", [primary({ ageMs: 2001 }), primary({ view: "v:4" }), secondary({ ageMs: 200 })])).toBe(
    false,
  );
});

test("a gatekeeper that restarts moves no client for four seconds if its host is up", () => {
  expect(mayBePrimary("a", [primary({ ageMs: 4000, kept: true }), secondary()])).toBe(true);
  expect(mayBePrimary("a", [primary(), secondary({ ageMs: 4000, kept: true })])).toBe(true);
  expect(mayBePrimary("a", [primary({ ageMs: 4001, kept: true }), secondary()])).toBe(false);
  expect(mayBePrimary("a", [primary({ ageMs: 2000, kept: true }), secondary({ view: "v:4", primary: "c" })])).toBe(
    false,
  );
});

test.each<[string, boolean, MemberView[]]>([
  ["one on another host is in its view", true, [secondary()]],
  ["one on another host is in its view and still recovers", true, [secondary({ state: "recovering", online: ["a"] })]],
  ["nobody else is known", false, []],
  ["the others are in another view", false, [secondary({ view: "v:4" })]],
  ["the others follow another primary", false, [secondary({ primary: "c" })]],
  ["the others were last seen more than two seconds ago", false, [secondary({ ageMs: 2001 })]],
  ["the only other is known from before its gatekeeper's restart", false, [secondary({ ageMs: 2001, kept: true })]],
])("a member reports a shared view if and only if it is connected: %s", (_, shared, others) => {
  expect(isSharedBy(primary(), others)).toBe(shared);
});

test("a member in no view reports no shared one", () => {
  expect(isSharedBy({}, [secondary({ view: undefined })])).toBe(false);
});

test("readers are forwarded to secondaries of a shared view, and never to a primary", () => {
  const third = secondary({ node: "c" });
  expect(all.map((member) => mayServeReads(member, [primary(), secondary(), third]))).toEqual([false, true, true]);
  // Until another is elected, secondaries serve what the dead primary had acknowledged.
  expect(all.map((member) => mayServeReads(member, [primary({ state: "away" }), secondary(), third]))).toEqual([
    false,
    true,
    true,
  ]);
  expect(mayServeReads("b", [secondary(), secondary({ node: "c", view: "v:4" })])).toBe(false);
  expect(mayServeReads("b", [secondary({ online: ["b"] }), third])).toBe(false);
  expect(mayServeReads("b", [secondary({ ageMs: 2001 }), third])).toBe(false);
  expect(mayServeReads("b", [secondary({ state: "recovering" }), third])).toBe(false);
});

const anyView: fc.Arbitrary<MemberView> = fc.record({
  node: fc.constantFrom(...all),
  ageMs: fc.integer({ min: 0, max: 2500 }),
  state: fc.constantFrom("online" as const, "online" as const, "error" as const),
  role: fc.constantFrom("primary" as const, "secondary" as const),
  view: fc.constantFrom("v:3", "v:4"),
  primary: fc.constantFrom(...all),
  online: fc.constantFrom(all, ["a", "b"], ["a"]),
  writable: fc.boolean(),
  kept: fc.boolean(),
});

test("for all views, clients are forwarded to at most one member, and readers never to it", () => {
  fc.assert(
    fc.property(fc.array(anyView, { maxLength: 9 }), (views) => {
      const eligible = all.filter((member) => mayBePrimary(member, views));
      expect(eligible.length).toBeLessThanOrEqual(1);
      expect(
        primaryOf(
          all.map((node) => ({ node })),
          views,
        ),
      ).toBe(eligible[0]);
      for (const chosen of eligible) expect(mayServeReads(chosen, views)).toBe(false);
    }),
    { numRuns: 20_000 },
  );
});
