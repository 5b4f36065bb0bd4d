import type { MemberView } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { chooseInvite, type Invite, inviteForMs, reachedBy } from "./choose-invite.ts";

const [first, second, third] = ["first", "second", "third"] as const;
const members = [{ node: first }, { node: second }, { node: third }];
const now = 1_000_000;

const view = (node: string, change: Partial<MemberView> = {}): MemberView => ({
  node,
  ageMs: 100,
  state: "online",
  online: [node],
  listed: [node],
  writable: false,
  ...change,
});
const out = (node: string, change: Partial<MemberView> = {}): MemberView =>
  view(node, { state: "offline", online: [], listed: [], reaches: [first, second, third], ...change });
const invited = (views: MemberView[], before?: Invite): string | undefined =>
  chooseInvite(before, { node: second, members }, views, now)?.node;
const since = (node: string, ms: number): Invite => ({ node, since: now - ms });

test("of two members that are out, the first is invited, and the other one when that is online", () => {
  const both = [view(second), out(first), out(third)];
  expect(invited(both)).toBe(first);
  const joining = [view(second, { listed: [first, second] }), out(third)];
  expect(invited(joining, since(first, 1000))).toBe(first);
  const joined = [view(second, { online: [first, second], listed: [first, second] }), view(first), out(third)];
  expect(invited(joined, since(first, 1000))).toBe(third);
});

test("an invitation that was not followed goes to the other one, and returns if there is none", () => {
  const both = [view(second), out(first), out(third)];
  expect(invited(both, since(first, inviteForMs - 1))).toBe(first);
  expect(invited(both, since(first, inviteForMs))).toBe(third);
  expect(chooseInvite(since(first, inviteForMs), { node: second, members }, [view(second), out(first)], now)).toEqual({
    node: first,
    since: now,
  });
});

test.each([
  ["that does not reach everybody in the group", out(first, { reaches: [third] })],
  ["that has not said whom it reaches", out(first, { reaches: undefined as never })],
  ["whose view is too old", out(first, { ageMs: 5000 })],
  ["whose server is away", out(first, { state: "away" })],
  ["that the group has not expelled yet", out(first)],
])("a member %s is not invited", (what, member) => {
  const listed = what.includes("expelled") ? [first, second] : [second];
  expect(invited([view(second, { listed }), member])).toBeUndefined();
});

test.each([
  ["is out of its group", view(second, { state: "offline", online: [] })],
  ["joins it", view(second, { state: "recovering", online: [] })],
  ["does not answer", view(second, { ageMs: 5000 })],
])("a member that %s invites nobody", (_, own) => {
  expect(invited([own, out(first), out(third)], since(first, 1000))).toBeUndefined();
});

test("a host is reached if it answers, or refuses while its gatekeeper is restarted", () => {
  const views = [view(second), view(first, { ageMs: 8000, kept: true }), view(third, { ageMs: 8000 })];
  expect(reachedBy(second, members, views)).toEqual([first]);
});
