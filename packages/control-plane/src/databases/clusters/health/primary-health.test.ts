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
      asynch: { primary: { node: "n0", term: TERM, reason: "fenced", ...primary }, archived: "" },
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

test("nobody is promoted while a database is restored or suspended", () => {
  expect(decision(judged(["fenced", "reported five", "reported six"], { status: "restoring" }))).toBe("wait");
  expect(decision(judged(["fenced", "reported five", "reported six"], { powered: false }))).toBe("nothing");
});

test("if the archive has more than every remaining member, its tenant is advised to restore", () => {
  const primary: PrimaryTerm = { node: "n0", term: TERM, reason: "fenced" };
  const health = judged(["fenced", "reported five", "reported six"], { asynch: { primary, archived: `${A}:1-7` } });
  expect(decision(health)).toBe("restore");
  expect(health.tenant).toEqual(texts.restoreNeeded({ label: "db" }));
  expect(health.operator?.text).toContain("moorage db bootstrap <id> --accept-loss");
});

test("with an unreachable primary, tenant and operator both get advice", () => {
  const [silent, lost] = [
    judged(["silent host", "reported five", "reported six"]),
    judged(["lost host", "reported five", "reported six"]),
  ];
  expect(silent.tenant).toEqual(texts.primaryUnreachable({ label: "db" }));
  expect(lost.tenant).toEqual(silent.tenant);
  expect(lost.tenant?.text).not.toContain("host-");
  expect(lost.operator?.text).toContain("moorage host dead host-0");
});
