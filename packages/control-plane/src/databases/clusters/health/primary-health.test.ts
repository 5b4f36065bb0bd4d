import type { GroupReport, PrimaryTerm } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { memberSeen } from "#testing/member-seen.ts";
import { type ObservedCluster, judgeCluster } from "./cluster-health.ts";
import { texts } from "./texts.ts";

const A = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const TERM = 4;

const group = (change: Partial<GroupReport> = {}): GroupReport => ({
  state: "online",
  role: "secondary",
  view: "v.4",
  online: 3,
  shared: true,
  term: TERM,
  ...change,
});
const outOfGroup = (change: Partial<GroupReport> = {}): GroupReport =>
  group({ state: "offline", online: 0, shared: false, ...change });
const saved_errant = { name: "lost/3.ab", gtid: `${A}:6-9`, bytes: 1, sha256: "c" };

/** How each kind of member is observed. */
const kinds = {
  primary: { report: group({ role: "primary" }) },
  "primary, counts two": { report: group({ role: "primary", online: 2 }) },
  "lone primary": { report: group({ role: "primary", online: 1, shared: false }), unhealthySeconds: 6 },
  fenced: { state: "working", report: outOfGroup({ state: "away", fenced: TERM }), unhealthySeconds: 2 },
  "fenced for long": { state: "working", report: outOfGroup({ state: "away", fenced: TERM }), unhealthySeconds: 10 },
  "fenced before": { state: "working", report: outOfGroup({ state: "away", fenced: TERM - 1 }), unhealthySeconds: 6 },
  "silent, fenced": {
    state: "working",
    report: outOfGroup({ state: "away", fenced: TERM }),
    host: { silentSeconds: 31 },
    unhealthySeconds: 40,
  },
  replica: {},
  "replica, counts two": { report: group({ online: 2 }) },
  "reported five": { state: "working", report: outOfGroup({ gtid: `${A}:1-5` }), unhealthySeconds: 6 },
  "reported four": { state: "working", report: outOfGroup({ gtid: `${A}:1-4` }), unhealthySeconds: 6 },
  "restored five": { state: "working", report: outOfGroup({ gtid: `${A}:1-5` }), unhealthySeconds: 6, recloning: true },
  "reported six, of its term": {
    state: "working",
    report: outOfGroup({ gtid: `${A}:1-6`, last_term: TERM }),
    unhealthySeconds: 6,
  },
  "reported six, of an earlier term": {
    state: "working",
    report: outOfGroup({ gtid: `${A}:1-6`, last_term: TERM - 1 }),
    unhealthySeconds: 6,
  },
  "failed, fenced": { state: "failed", report: outOfGroup({ state: "away", fenced: TERM }), unhealthySeconds: 31 },
  "reported six": { state: "working", report: outOfGroup({ gtid: `${A}:1-6` }), unhealthySeconds: 6 },
  "not reported": { state: "working", report: outOfGroup({ state: "recovering" }), unhealthySeconds: 2 },
  "never reported": { state: "working", report: outOfGroup({ state: "recovering" }), unhealthySeconds: 20 },
  errant: { state: "working", report: outOfGroup({ errant: `${A}:6-9`, gtid: `${A}:1-9` }), unhealthySeconds: 31 },
  "errant, saved": { state: "working", report: outOfGroup({ errant: `${A}:6-9`, saved_errant }), unhealthySeconds: 31 },
  unusable: { state: "working", report: outOfGroup({ unusable: "Its logs are gone." }), unhealthySeconds: 31 },
  "failed for long": { state: "failed", report: null, unhealthySeconds: 31 },
  "silent host": { host: { silentSeconds: 31 } },
  "lost host": { host: { silentSeconds: 301 } },
  "dead host": { host: { dead: true, silentSeconds: 40 } },
} as const satisfies Record<string, object>;
type Kind = keyof typeof kinds;

const member = (kind: Kind, ordinal: number) => memberSeen(ordinal, group(), kinds[kind]);
/** Node 0 is primary. */
const judged = (kindsOf: readonly Kind[], change: Partial<ObservedCluster> = {}, primary: Partial<PrimaryTerm> = {}) =>
  judgeCluster(
    {
      label: "db",
      status: "degraded",
      powered: true,
      busy: false,
      members: kindsOf.map(member),
      asynch: { primary: { node: "n0", term: TERM, reason: "fenced", ...primary }, archived: "", termSeconds: 3600 },
      ...change,
    },
    { hostSilentSeconds: 300 },
  );
const decision = ({ next }: ReturnType<typeof judged>): string =>
  next.do === "promote"
    ? `n${next.ordinal} by ${next.reason}`
    : next.do === "replace"
      ? `replace ${next.node}`
      : next.do;

test.each<[kinds: Kind[], next: string]>([
  [["primary", "replica", "replica"], "nothing"],
  // After a fence in this term the member with the most becomes primary, once all reachable ones have reported.
  [["fenced", "reported five", "reported six"], "n2 by fenced"],
  [["fenced", "reported five", "not reported"], "wait"],
  [["fenced for long", "reported five", "never reported"], "n1 by fenced"],
  [["silent, fenced", "reported five", "reported six"], "n2 by fenced"],
  [["fenced before", "reported five", "reported six"], "wait"],
  // No other answers: the same one is primary again, if its host can be reached.
  [["fenced for long", "never reported", "silent host"], "n0 by fenced"],
  [["silent, fenced", "never reported", "silent host"], "ask"],
  // Who never followed it in its term has none of its writes: it is primary again, if its host has its data.
  [["fenced for long", "reported six, of its term", "silent host"], "n1 by fenced"],
  [["fenced for long", "reported six, of an earlier term", "silent host"], "n0 by fenced"],
  [["fenced for long", "reported six, of its term", "reported six, of an earlier term"], "n1 by fenced"],
  [["failed, fenced", "reported six, of an earlier term", "silent host"], "n1 by fenced"],
  [["silent, fenced", "reported six, of an earlier term", "silent host"], "n1 by fenced"],
  // Its host was declared dead.
  [["dead host", "reported five", "reported six"], "n2 by forced"],
  [["dead host", "reported five", "dead host"], "n1 by forced"],
  [["dead host", "dead host", "dead host"], "ask"],
  // A primary that only we cannot reach serves while others follow it.
  [["dead host", "replica", "replica"], "wait"],
  [["lost host", "replica", "replica"], "wait"],
  // A silent one may be alive and writing.
  [["silent host", "reported five", "reported six"], "wait"],
  [["lost host", "reported five", "reported six"], "ask"],
  // Its own host has given it up.
  [["failed for long", "reported five", "reported six"], "n2 by forced"],
  // The primary is never replaced.
  [["failed for long", "replica", "replica"], "wait"],
  [["primary, counts two", "replica, counts two", "dead host"], "replace n2"],
  [["primary, counts two", "replica, counts two", "unusable"], "replace n2"],
  [["primary, counts two", "replica, counts two", "errant, saved"], "replace n2"],
  // Its errant transactions are saved first.
  [["primary, counts two", "replica, counts two", "errant"], "wait"],
  // No replica: diverged members are recloned from the primary, one after the other.
  [["lone primary", "errant, saved", "errant, saved"], "replace n1"],
  [["lone primary", "errant", "unusable"], "replace n2"],
  // A group would be bootstrapped.
  [["reported five", "reported five", "reported six"], "wait"],
  [["lone primary", "lost host", "dead host"], "ask"],
  [["reported five", "dead host", "dead host"], "ask"],
])("%j: %s", (kindsOf, next) => {
  expect(decision(judged(kindsOf))).toBe(next);
});

test("a sole survivor gets replacements for the others", () => {
  expect(decision(judged(["lone primary", "dead host", "dead host"], {}, { reason: "sole_survivor" }))).toBe(
    "replace n1",
  );
  expect(decision(judged(["lone primary", "dead host", "lost host"], {}, { reason: "sole_survivor" }))).toBe("wait");
});

test.each(["active", "updating", "backing_up", "resuming", "provisioning"] as const)(
  "an ended primary is succeeded while the database is %s, whatever else is under way",
  (status) => {
    expect(decision(judged(["fenced", "reported five", "reported six"], { status, busy: true }))).toBe("n2 by fenced");
  },
);

test("nobody is promoted while a database is suspended", () => {
  expect(decision(judged(["fenced", "reported five", "reported six"], { powered: false }))).toBe("nothing");
});

test.each<[readonly (keyof typeof kinds)[], PrimaryTerm["reason"], string]>([
  // It makes the restored data, and has everything of the previous ones.
  [["fenced", "reported five", "reported six"], "fenced", "n0 by fenced"],
  // The confirmation of no other member is needed for the restored data.
  [["fenced", "dead host", "dead host"], "sole_survivor", "n0 by sole_survivor"],
  [["silent, fenced", "reported five", "reported six"], "fenced", "n2 by fenced"],
  [["dead host", "reported five", "reported six"], "fenced", "n2 by forced"],
  [["dead host", "restored five", "reported four"], "fenced", "n2 by forced"],
  [["lost host", "reported five", "reported six"], "fenced", "ask"],
])("while a database is restored, after %j with a primary by %s: %s", (kindsOf, reason, next) => {
  expect(decision(judged(kindsOf, { status: "restoring" }, { reason }))).toBe(next);
});

const byFence: PrimaryTerm = { node: "n0", term: TERM, reason: "fenced" };

test("a fenced primary that has what the archive has is primary again, instead of a restore", () => {
  const asynch = { primary: byFence, archived: `${A}:1-7`, termSeconds: 60 };
  expect(decision(judged(["fenced", "reported five", "reported six"], { asynch }))).toBe("n0 by fenced");
  expect(decision(judged(["silent, fenced", "reported five", "reported six"], { asynch }))).toBe("restore");
  const unusable = memberSeen(0, outOfGroup({ state: "away", fenced: TERM, unusable: "Its logs are gone." }), {
    state: "working",
    unhealthySeconds: 10,
  });
  const members = [unusable, member("reported five", 1), member("reported six", 2)];
  expect(decision(judged([], { asynch, members }))).toBe("restore");
});

test("after an outage of the control plane nobody is promoted by reports from before it", () => {
  const unseen = { silentSeconds: 20, unseenSeconds: 3600 };
  const has = (ordinal: number, gtid: string, host: object = {}) =>
    memberSeen(ordinal, outOfGroup({ gtid }), { state: "working", unhealthySeconds: 3600, host });
  const fenced = memberSeen(0, outOfGroup({ state: "away", fenced: TERM }), {
    state: "working",
    unhealthySeconds: 3600,
  });
  const seen = has(1, `${A}:1-5`);
  expect(decision(judged([], { members: [fenced, seen, has(2, `${A}:1-100`, unseen)] }))).toBe("wait");
  expect(decision(judged([], { members: [fenced, seen, has(2, `${A}:1-100`)] }))).toBe("n2 by fenced");
  const givenUp = has(2, `${A}:1-100`, { silentSeconds: 31, unseenSeconds: 3611 });
  expect(decision(judged([], { members: [fenced, seen, givenUp] }))).toBe("n1 by fenced");
});

test("if the archive has more than every remaining member, its tenant is advised to restore", () => {
  const health = judged(["silent, fenced", "reported five", "reported six"], {
    asynch: { primary: byFence, archived: `${A}:1-7`, termSeconds: 60 },
  });
  expect(decision(health)).toBe("restore");
  expect(health.tenant).toEqual(texts.restoreNeeded({ label: "db" }));
  expect(health.operator?.text).toContain("moorage admin db bootstrap <id> --accept-loss");
});

test("with an unreachable primary, tenant and operator both get advice", () => {
  const [silent, lost] = [
    judged(["silent host", "reported five", "reported six"]),
    judged(["lost host", "reported five", "reported six"]),
  ];
  expect(silent.tenant).toEqual(texts.primaryUnreachable({ label: "db" }));
  expect(lost.tenant).toEqual(silent.tenant);
  expect(lost.tenant?.text).not.toContain("host-");
  expect(lost.operator?.text).toContain("moorage admin host dead host-0");
});

test("a tenant's promotion that is not carried out within two minutes is withdrawn", () => {
  const primary: PrimaryTerm = { node: "n1", term: TERM, reason: "forced", from: "n0" };
  const after = (termSeconds: number, kindsOf: readonly Kind[], change: Partial<PrimaryTerm> = {}) =>
    judged(kindsOf, { asynch: { primary: { ...primary, ...change }, archived: "", termSeconds } }).next;
  const pending = ["silent host", "reported five", "silent host"] as const;
  expect(after(119, pending)).toEqual({ do: "wait" });
  expect(after(120, pending)).toEqual({ do: "withdraw", node: "n0" });
  // It was carried out: nobody else follows yet, its host is unreachable, or its server has ended since.
  expect(after(120, ["silent host", "lone primary", "silent host"])).toEqual({ do: "wait" });
  expect(after(120, ["reported five", "silent host", "reported five"])).toEqual({ do: "wait" });
  expect(after(120, ["silent host", "fenced for long", "reported five"])).toMatchObject({ do: "promote", node: "n2" });
  // Without a tenant's request: the old primary's host is dead.
  expect(after(120, pending, { reason: "fenced" })).toEqual({ do: "wait" });
});

test("of two replicas that each lack something of the other's, a person chooses", () => {
  const has = (ordinal: number, gtid: string) =>
    memberSeen(ordinal, outOfGroup({ gtid, last_term: TERM }), { state: "working", unhealthySeconds: 6 });
  const members = [
    memberSeen(0, outOfGroup({ state: "away", fenced: TERM, last_term: TERM }), {
      state: "working",
      unhealthySeconds: 10,
    }),
    has(1, `${A}:1-5`),
    has(2, `${A}:1-3:6`),
  ];
  expect(judged([], { members }).next).toEqual({ do: "ask" });
});
