import { type Cluster, KEPT_VIEW_MAX_AGE_MS, type MemberView, type PrimaryTerm } from "@moorage/contract/agent";
import fc from "fast-check";
import { expect, test } from "vitest";
import { checkEveryMs } from "../../gatekeeper/gatekeeper.ts";
import { proxyChecks } from "../../proxy/haproxy-config.ts";
import type { UsedIds } from "../../specs/node-state.ts";
import { memberSpec } from "../../testing/node-spec.ts";
import { dueReclone } from "../member/due-reclone.ts";
import { afterForcedMs, decideFollowing, type FollowingFacts } from "./decide-following.ts";

const [own, second, third] = [0, 1, 2].map((ordinal) => memberSpec(ordinal).node) as [string, string, string];
const [id, other] = ["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"];
const uuid = "aaaaaaaa-aaaa-4aaa-0000-000000000001";
const term = 5;

const spec = (primary: Partial<PrimaryTerm>, change: Partial<Cluster> = {}, node = own) => {
  const { cluster } = memberSpec(0);
  if (cluster === undefined) throw new Error("no cluster");
  const primaryTerm: PrimaryTerm = { node: own, term, reason: "fenced", ...primary };
  return { node, cluster: { ...cluster, replication: "asynch" as const, primary: primaryTerm, ...change } };
};
type Own = FollowingFacts["own"];
/** A server that was just started. */
const closed: Own = {
  open: false,
  hasRoomAgain: false,
  source: undefined,
  receiving: "off",
  applying: false,
  gtid: `${uuid}:1-9`,
  isApplied: true,
  isPurged: false,
};
const open: Own = { ...closed, open: true };
const following = (source: string, change: Partial<Own> = {}): Own => ({
  ...closed,
  source,
  receiving: "on",
  applying: true,
  ...change,
});
const view = (node: string, change: Partial<MemberView> = {}): MemberView => ({
  node,
  ageMs: 300,
  state: "online",
  role: "secondary",
  primary: own,
  online: [],
  writable: false,
  term,
  gtid: `${uuid}:1-9`,
  ...change,
});
const actingPrimary = (node: string, change: Partial<MemberView> = {}): MemberView =>
  view(node, { role: "primary", primary: node, writable: true, ...change });
const facts = (change: Partial<FollowingFacts> = {}): FollowingFacts => {
  const others = "others" in change ? change.others : [view(second), view(third)];
  return {
    own: closed,
    others,
    used: {},
    errant: "",
    stalledMs: 0,
    failedAttempts: 0,
    terms: (others ?? []).flatMap((each) => each.term ?? []),
    ...change,
  };
};
const openedNow: UsedIds = { opened: { term, boot: "this" } };
type Row = [string, Partial<PrimaryTerm>, Partial<FollowingFacts>, object];
const decisionOf = ([, primary, change]: Row) => decideFollowing(spec(primary), facts(change));

const asPrimary: Row[] = [
  ["it is opened", {}, {}, { kind: "open", term, afterMs: 0 }],
  ["open in its term, it stays", {}, { own: open, used: openedNow }, { kind: "stay" }],
  [
    "open in its term and isolated, it stays: its proxies close",
    {},
    { own: open, used: openedNow, others: [] },
    { kind: "stay" },
  ],
  [
    "open in its term without a gatekeeper, it stays",
    {},
    { own: open, used: openedNow, others: undefined },
    { kind: "stay" },
  ],
  [
    "open since an earlier term, it is closed",
    {},
    { own: open, used: { opened: { term: 4, boot: "this" } } },
    { kind: "close" },
  ],
  ["open and never opened, it is closed", {}, { own: open }, { kind: "close" }],
  [
    "open, but its stop was begun: its opening is recorded again",
    {},
    { own: open, used: { opened: { term } } },
    { kind: "open" },
  ],
  [
    "with room on its disk again it accepts its tenants' writes again",
    {},
    { own: { ...open, hasRoomAgain: true }, used: openedNow },
    { kind: "open" },
  ],
  [
    "stopped and started in its term, it is opened again",
    {},
    { used: { opened: { term } } },
    { kind: "open", afterMs: 0 },
  ],
  ["fenced in its term, it is not opened", {}, { used: { ...openedNow, fenced: term } }, { kind: "wait" }],
  [
    "fenced in its term and open, it is closed",
    {},
    { own: open, used: { ...openedNow, fenced: term } },
    { kind: "close" },
  ],
  ["fenced in a term before, it is opened", {}, { used: { fenced: 4 } }, { kind: "open" }],
  ["while nobody else knows its term it waits", {}, { others: [view(second, { term: 4 })] }, { kind: "wait" }],
  ["while nobody else is reachable it waits", {}, { others: [] }, { kind: "wait" }],
  [
    "a member of its term is ahead: it first replicates from that one",
    {},
    { others: [view(second), view(third, { gtid: `${uuid}:1-12` })] },
    { kind: "follow", source: third },
  ],
  [
    "of two that are ahead, from the one that has more, received or executed",
    { reason: "forced" },
    { others: [view(second, { gtid: `${uuid}:1-12` }), view(third, { received: `${uuid}:5-13` })] },
    { kind: "follow", source: third },
  ],
  [
    "while a member that is ahead sends it transactions it waits",
    {},
    { own: following(third), others: [view(second), view(third, { gtid: `${uuid}:1-12` })] },
    { kind: "wait", soon: true },
  ],
  [
    "a member that is ahead has sent nothing for 30 s: it is opened",
    {},
    { own: following(third), stalledMs: 30_000, others: [view(second), view(third, { gtid: `${uuid}:1-12` })] },
    { kind: "open" },
  ],
  [
    "a member that lacks transactions of it is not ahead",
    {},
    { others: [view(second), view(third, { gtid: `${uuid}:1-8:10-20` })] },
    { kind: "open" },
  ],
  [
    "a member that may still take writes is not ahead: its host knows an earlier term",
    {},
    { others: [view(second), view(third, { gtid: `${uuid}:1-12`, term: 4 })] },
    { kind: "open" },
  ],
  [
    "opened in its term before, it does not look for members that are ahead",
    {},
    { used: { opened: { term } }, others: [view(second), view(third, { gtid: `${uuid}:1-12` })] },
    { kind: "open" },
  ],
  ["the sole survivor by a person's order is opened", { reason: "sole_survivor" }, { others: [] }, { kind: "open" }],
  [
    "without a gatekeeper even a sole survivor waits",
    { reason: "sole_survivor" },
    { others: undefined },
    { kind: "wait" },
  ],
  [
    "another host knows a newer term: it waits",
    {},
    { others: [view(second, { term: 6 }), view(third)] },
    { kind: "wait" },
  ],
  [
    "another host knows a newer term, and it is open: it is closed",
    {},
    { own: open, used: openedNow, others: [view(second, { term: 6 })] },
    { kind: "close" },
  ],
  [
    "a host whose server is away knows a newer term: it waits",
    {},
    { others: [view(second, { term: 6, state: "away" })] },
    { kind: "wait" },
  ],
  ["a host on another timeline knows a newer term: it waits", {}, { terms: [5, 6] }, { kind: "wait" }],
  [
    "it was the primary in a newer term, and obeys no older one",
    {},
    { used: { opened: { term: 6 } } },
    { kind: "wait" },
  ],
  [
    "by a person's order, it is opened once the old primary's proxies have closed",
    { reason: "forced" },
    {},
    { kind: "open", afterMs: afterForcedMs },
  ],
  [
    "by a person's order and opened before, it waits no longer",
    { reason: "forced" },
    { used: { opened: { term } } },
    { kind: "open", afterMs: 0 },
  ],
];
test.each(asPrimary)("primary: %s", (...row) => {
  expect(decisionOf(row)).toMatchObject(row[3]);
});

const handover: Partial<PrimaryTerm> = { reason: "handover", from: second };
const given = (change: Partial<MemberView> = {}) => [view(second, { state: "offline", ...change }), view(third)];
const handovers: Row[] = [
  ["everything was received: it is opened", handover, { others: given() }, { kind: "open", term }],
  ["the other is still open: it waits", handover, { others: given({ writable: true }) }, { kind: "wait", soon: true }],
  ["the other does not know the term yet: it waits", handover, { others: given({ term: 4 }) }, { kind: "wait" }],
  ["the other's server is away: it waits", handover, { others: given({ state: "away" }) }, { kind: "wait" }],
  ["the other is unreachable: it waits", handover, { others: [view(third)] }, { kind: "wait" }],
  ["the other was last seen too long ago: it waits", handover, { others: given({ ageMs: 4000 }) }, { kind: "wait" }],
  [
    "the other has more, which is on its way: it waits",
    handover,
    { own: following(second), others: given({ gtid: `${uuid}:1-10` }) },
    { kind: "wait", soon: true },
  ],
  [
    "the other has more, and nothing is on its way: it is fetched",
    handover,
    { others: given({ gtid: `${uuid}:1-10` }) },
    { kind: "follow", source: second },
  ],
  [
    "each has what the other lacks: nothing is discarded",
    handover,
    { others: given({ gtid: `${uuid}:1-8:10` }) },
    { kind: "wait" },
  ],
  [
    "received and not applied counts: applying is part of opening",
    handover,
    { own: following(second, { isApplied: false }), others: given() },
    { kind: "open" },
  ],
  [
    "opened in this term before, it needs no second switchover",
    handover,
    { used: { opened: { term } }, others: [view(third)] },
    { kind: "open" },
  ],
];
test.each(handovers)("switchover: %s", (...row) => {
  expect(decisionOf(row)).toMatchObject(row[3]);
});

const primaryTerm: Partial<PrimaryTerm> = { node: second };
const others = [actingPrimary(second), view(third)];
const asFollower: Row[] = [
  ["it replicates from the primary", primaryTerm, { others }, { kind: "follow", source: second }],
  [
    "replicating, it stays",
    primaryTerm,
    { others, own: following(second), used: { followed: term } },
    { kind: "stay" },
  ],
  [
    "replicating from a primary that is unreachable, it stays",
    primaryTerm,
    { others: [], own: following(second), used: { followed: term } },
    { kind: "stay" },
  ],
  [
    "replicating from a primary whose server has ended, it stops receiving",
    primaryTerm,
    { others: [view(second, { state: "away" })], own: following(second), used: { followed: term } },
    { kind: "settle" },
  ],
  [
    "and then waits for a primary",
    primaryTerm,
    { others: [view(second, { state: "away" })], own: following(second, { receiving: "off" }) },
    { kind: "wait" },
  ],
  [
    "with a source that is primary again, in a later term, it is compared again",
    primaryTerm,
    { others, own: following(second), used: { followed: term - 1 }, errant: undefined },
    { kind: "settle" },
  ],
  [
    "open, it is closed, whoever is reachable",
    primaryTerm,
    { others: [], own: open, used: openedNow },
    { kind: "close" },
  ],
  [
    "while the primary is not open it keeps its previous source",
    primaryTerm,
    { others: [view(second)], own: following(third) },
    { kind: "wait", soon: true },
  ],
  [
    "it does not replicate from a primary of an older term",
    primaryTerm,
    { others: [actingPrimary(second, { term: 4 })] },
    { kind: "wait" },
  ],
  [
    "the primary is open: it leaves its previous source",
    primaryTerm,
    { others, own: following(third) },
    { kind: "follow", source: second },
  ],
  [
    "while it connects, it waits",
    primaryTerm,
    { others, own: following(second, { receiving: "connecting" }), used: { followed: term } },
    { kind: "wait" },
  ],
  [
    "disconnected, it replicates again",
    primaryTerm,
    { others, own: following(second, { receiving: "off" }) },
    { kind: "follow" },
  ],
  [
    "with an applier that stopped it replicates again",
    primaryTerm,
    { others, own: following(second, { applying: false }) },
    { kind: "follow" },
  ],
  [
    "a transaction that fails repeatedly makes the data unusable",
    primaryTerm,
    { others, own: following(second, { applying: false }), failedAttempts: 3 },
    { kind: "unusable" },
  ],
  [
    "the primary has purged what it needs",
    primaryTerm,
    { others, own: following(second, { receiving: "off", isPurged: true }) },
    { kind: "unusable" },
  ],
  [
    "its previous source had purged what it needed",
    primaryTerm,
    { others, own: following(third, { receiving: "off", isPurged: true }) },
    { kind: "follow" },
  ],
  [
    "with errant transactions it does not replicate, and reports them",
    primaryTerm,
    { others, errant: `${uuid}:9` },
    { kind: "errant", transactions: `${uuid}:9` },
  ],
  [
    "it seems to have more, and grows: it is settled first",
    primaryTerm,
    { others, own: following(third), errant: undefined },
    { kind: "settle" },
  ],
  [
    "it seems to have more, and has not applied all: it is settled first",
    primaryTerm,
    { others, own: { ...closed, isApplied: false }, errant: undefined },
    { kind: "settle" },
  ],
  [
    "it seems to have more, and the primary's report is too old: it waits",
    primaryTerm,
    { others, errant: undefined },
    { kind: "wait", soon: true },
  ],
  ["without a gatekeeper it waits", primaryTerm, { others: undefined }, { kind: "wait" }],
];
test.each(asFollower)("replica: %s", (...row) => {
  expect(decisionOf(row)).toMatchObject(row[3]);
});

const recloning: [string, Partial<Cluster>, Partial<FollowingFacts>, object][] = [
  ["it clones a replica", { reclone: { id } }, { others, own: open }, { kind: "reclone", id, donor: third }],
  [
    "it clones the primary if there is no other donor",
    { reclone: { id } },
    { others: [actingPrimary(second)], own: open },
    { donor: second },
  ],
  ["replicating, it stops first", { reclone: { id } }, { others, own: following(second) }, { kind: "leave" }],
  ["closed, it is restarted", { reclone: { id } }, { others }, { kind: "restart" }],
  [
    "without a donor it waits",
    { reclone: { id } },
    { others: [view(third, { state: "recovering" })], own: open },
    { kind: "wait" },
  ],
  [
    "interrupted and no longer requested, it is repeated all the same",
    {},
    { others, own: open, used: { recloning: id } },
    { kind: "reclone", id },
  ],
  [
    "finished, it is not repeated",
    { reclone: { id } },
    { others, used: { recloning: id, recloned: id } },
    { kind: "follow" },
  ],
];
test.each(recloning)("re-clone: %s", (_, cluster, change, decision) => {
  expect(decideFollowing(spec(primaryTerm, cluster), facts(change))).toMatchObject(decision);
});

test("without a desired primary no member is opened, and an open one is closed", () => {
  const { cluster, node } = spec({});
  const withoutPrimary = { node, cluster: { ...cluster, primary: undefined } } as never;
  expect(decideFollowing(withoutPrimary, facts()).kind).toBe("wait");
  expect(decideFollowing(withoutPrimary, facts({ own: open })).kind).toBe("close");
});

const anyTerm = fc.integer({ min: 4, max: 6 });
const maybe = <T>(each: fc.Arbitrary<T>) => fc.option(each, { nil: undefined });
const anyView = fc.record({
  node: fc.constantFrom(second, third),
  ageMs: fc.constantFrom(100, 5000),
  state: fc.constantFrom<MemberView["state"]>("online", "recovering", "offline", "error", "away"),
  role: fc.constantFrom("primary" as const, "secondary" as const),
  online: fc.constant<string[]>([]),
  writable: fc.boolean(),
  term: anyTerm,
  gtid: fc.constantFrom(`${uuid}:1-8`, `${uuid}:1-9`, `${uuid}:1-10`),
});
const anyOwn = fc.record({
  open: fc.boolean(),
  hasRoomAgain: fc.boolean(),
  source: maybe(fc.constantFrom(second, third)),
  receiving: fc.constantFrom("on" as const, "connecting" as const, "off" as const),
  applying: fc.boolean(),
  gtid: fc.constant(`${uuid}:1-9`),
  isApplied: fc.boolean(),
  isPurged: fc.boolean(),
});
const anyUsed = fc
  .record({
    opened: maybe(fc.record({ term: anyTerm, boot: fc.constant("this") })),
    fenced: maybe(anyTerm),
    recloning: maybe(fc.constantFrom(id, other)),
    recloned: maybe(fc.constantFrom(id, other)),
  })
  .map((used) => used as UsedIds);
const anyFacts = fc
  .record({
    own: anyOwn,
    others: fc.array(anyView, { maxLength: 2 }),
    used: anyUsed,
    errant: fc.constantFrom("", undefined, `${uuid}:9`),
    stalledMs: fc.constantFrom(0, 29_999, 30_000),
    failedAttempts: fc.integer({ min: 0, max: 4 }),
  })
  .map((seen): FollowingFacts => {
    const reachable = seen.others.filter(({ ageMs }) => ageMs < 3000);
    return { ...seen, terms: reachable.map((each) => each.term) };
  });
const anyPrimaryTerm = fc.record({
  node: fc.constantFrom(own, second),
  term: anyTerm,
  reason: fc.constantFrom<PrimaryTerm["reason"]>("fenced", "handover", "forced", "sole_survivor"),
  from: fc.constant(second),
});

test("for all facts, only the unfenced primary of the newest term is opened, after a complete switchover", () => {
  fc.assert(
    fc.property(anyPrimaryTerm, anyFacts, (primary, seen) => {
      const decision = decideFollowing(spec(primary), seen);
      if (decision.kind !== "open") return;
      const { used, terms, others: reachable = [] } = seen;
      expect(primary.node).toBe(own);
      expect(dueReclone(spec(primary), used)).toBeUndefined();
      expect(Math.max(0, ...terms, used.fenced === undefined ? 0 : used.fenced + 1)).toBeLessThanOrEqual(primary.term);
      const wasOpen = used.opened?.term === primary.term;
      if (wasOpen && seen.own.open) return;
      expect(primary.reason === "sole_survivor" || terms.includes(primary.term)).toBe(true);
      if (primary.reason !== "handover" || wasOpen) return;
      const gave = reachable.filter(({ node, ageMs }) => node === second && ageMs < 3000)[0];
      expect(gave).toMatchObject({ writable: false, term: primary.term });
      expect(gave?.gtid).not.toBe(`${uuid}:1-10`);
    }),
    { numRuns: 10_000 },
  );
});

test("for all facts, a replica is neither opened nor left open", () => {
  fc.assert(
    fc.property(anyPrimaryTerm, anyFacts, (primary, seen) => {
      fc.pre(primary.node !== own && dueReclone(spec(primary), seen.used) === undefined);
      const { kind } = decideFollowing(spec(primary), seen);
      expect(kind === "open" || (seen.own.open && kind !== "close")).toBe(false);
    }),
    { numRuns: 5000 },
  );
});

test("a member promoted by a person opens only when no proxy forwards to the former primary any more", () => {
  const { agentEveryMs, everyMs, fall, timeoutMs } = proxyChecks;
  // A gatekeeper that is up: it forwards by a view of a replica until that is too old, and the proxy asks it again.
  const believedView = KEPT_VIEW_MAX_AGE_MS + checkEveryMs + agentEveryMs.primary;
  // A gatekeeper that has ended: its proxy forwards by its last answer until the check has failed often enough.
  const believedGatekeeper = fall * everyMs + timeoutMs;
  expect(Math.max(believedView, believedGatekeeper)).toBeLessThan(afterForcedMs);
});
