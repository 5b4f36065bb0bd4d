import type { GroupReport } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { memberSeen } from "#testing/member-seen.ts";
import { type ObservedCluster, judgeCluster } from "./cluster-health.ts";
import { texts } from "./texts.ts";

const settings = { hostSilentSeconds: 300 };
const group = (change: Partial<GroupReport> = {}): GroupReport => ({
  state: "online",
  role: "secondary",
  view: "v:1",
  online: 3,
  shared: true,
  ...change,
});

/** How each kind of member is observed. */
const kinds = {
  healthy: {},
  "healthy, counts two": { report: group({ online: 2 }) },
  "silent host": { host: { silentSeconds: 31 } },
  "lost host": { host: { silentSeconds: 301 } },
  "dead host": { host: { dead: true } },
  "dead host, seen a moment ago": { host: { dead: true, silentSeconds: 1 } },
  "failed for long": { state: "failed", report: null, unhealthySeconds: 31, message: "its volume is gone" },
  "failed just now": { state: "failed", report: null, unhealthySeconds: 6 },
  errant: { state: "working", report: group({ state: "offline", shared: false, errant: "a:1" }), unhealthySeconds: 31 },
  recovering: { state: "working", report: group({ state: "recovering", shared: false }), unhealthySeconds: 6 },
  "away for a second": { state: "working", report: group({ state: "away", shared: false }), unhealthySeconds: 1 },
  "in no group": { state: "working", report: outOfGroup("a:1-5"), unhealthySeconds: 6 },
  "in no group, not reported": { state: "working", report: outOfGroup(), unhealthySeconds: 6 },
  "sees nobody": { report: group({ shared: false, online: 1 }), unhealthySeconds: 6 },
  "bootstrapped alone": { report: group({ shared: false, online: 1, bootstrapped: "b" }), unhealthySeconds: 6 },
  "not reported": { report: null },
} as const satisfies Record<string, object>;
type Kind = keyof typeof kinds;

function outOfGroup(gtid?: string): GroupReport {
  return group({ state: "offline", online: 0, shared: false, ...(gtid === undefined ? {} : { gtid }) });
}

const member = (kind: Kind, ordinal: number) => memberSeen(ordinal, group(), kinds[kind]);
const judged = (kindsOf: readonly Kind[], change: Partial<ObservedCluster> = {}) =>
  judgeCluster(
    { label: "db", status: "active", powered: true, busy: false, members: kindsOf.map(member), ...change },
    settings,
  );

const two = ["healthy, counts two", "healthy, counts two"] as const;

test.each<[kinds: Kind[], healthy: number, status: string, next: string]>([
  [["healthy", "healthy", "healthy"], 3, "active", "nothing"],
  // A member that is back within seconds causes no event.
  [["healthy", "healthy", "away for a second"], 2, "active", "wait"],
  [["healthy", "healthy", "not reported"], 2, "active", "wait"],
  [[...two, "recovering"], 2, "degraded", "wait"],
  [[...two, "in no group"], 2, "degraded", "wait"],
  [[...two, "silent host"], 2, "degraded", "wait"],
  [[...two, "lost host"], 2, "degraded", "replace n2"],
  [[...two, "dead host"], 2, "degraded", "replace n2"],
  [["dead host", ...two], 2, "degraded", "replace n0"],
  [["healthy", "healthy", "dead host, seen a moment ago"], 2, "degraded", "replace n2"],
  // Its host cannot reach us, but its group counts it: it serves.
  [["healthy", "healthy", "lost host"], 2, "degraded", "wait"],
  [[...two, "failed for long"], 2, "degraded", "replace n2"],
  [[...two, "failed just now"], 2, "degraded", "wait"],
  [[...two, "errant"], 2, "degraded", "replace n2"],
  // Never with fewer than two others online.
  [["healthy, counts two", "lost host", "lost host"], 1, "degraded", "wait"],
  [["healthy, counts two", "recovering", "lost host"], 1, "degraded", "wait"],
  [["healthy, counts two", "failed for long", "dead host"], 1, "degraded", "wait"],
  [["sees nobody", "lost host", "lost host"], 0, "degraded", "wait"],
  [["sees nobody", "dead host", "dead host"], 0, "degraded", "wait"],
  [["sees nobody", "silent host", "silent host"], 0, "degraded", "wait"],
  [["in no group", "in no group", "in no group"], 0, "degraded", "bootstrap"],
  [["in no group", "in no group", "in no group, not reported"], 0, "degraded", "wait"],
  [["in no group", "in no group", "recovering"], 0, "degraded", "wait"],
  [["in no group", "in no group", "sees nobody"], 0, "degraded", "wait"],
  [["in no group", "in no group", "silent host"], 0, "degraded", "wait"],
  [["in no group", "in no group", "lost host"], 0, "degraded", "ask"],
  [["in no group", "dead host", "dead host"], 0, "degraded", "ask"],
  [["lost host", "lost host", "lost host"], 0, "degraded", "wait"],
  [["silent host", "silent host", "silent host"], 0, "degraded", "wait"],
  // An operator bootstrapped it with one member and declared both others dead.
  [["bootstrapped alone", "dead host", "dead host"], 0, "degraded", "replace n1"],
  [["bootstrapped alone", "recovering", "dead host"], 0, "degraded", "wait"],
  [["bootstrapped alone", "lost host", "lost host"], 0, "degraded", "wait"],
])("%j: %i healthy, %s, %s", (kindsOf, healthy, status, next) => {
  const health = judged(kindsOf);
  const done = health.next.do === "replace" ? `replace ${health.next.node}` : health.next.do;
  expect([health.healthy, health.status, done]).toEqual([healthy, status, next]);
  expect(health.tenant === null).toBe(status === "active");
  expect(health.operator === null).toBe(status === "active");
});

test("a degraded database stays so until all three are healthy", () => {
  expect(judged(["healthy", "healthy", "away for a second"], { status: "degraded" }).status).toBe("degraded");
  expect(judged(["healthy", "healthy", "healthy"], { status: "degraded" }).status).toBe("active");
});

test.each(["updating", "resuming", "restoring", "backing_up", "provisioning", "failed", "suspended"] as const)(
  "while a database is %s, nothing is done and its status stays",
  (status) => {
    for (const kindsOf of [
      [...two, "dead host"],
      ["in no group", "in no group", "in no group"],
      ["healthy", "healthy", "healthy"],
    ] as Kind[][])
      expect(judged(kindsOf, { status })).toMatchObject({
        status,
        tenant: null,
        next: { do: expect.stringMatching(/wait|nothing/) },
      });
  },
);

test("during an operation, and shortly after a failed one, no repair starts", () => {
  expect(judged([...two, "dead host"], { busy: true }).next).toEqual({ do: "wait" });
  expect(judged([...two, "dead host"], { failedSeconds: { replace: 599 } }).next).toEqual({ do: "wait" });
  expect(judged([...two, "dead host"], { failedSeconds: { replace: 600, bootstrap: 1 } }).next).toEqual({
    do: "replace",
    node: "n2",
    ordinal: 2,
  });
});

test("a powered-off database is healthy", () => {
  expect(judged(["in no group", "in no group", "in no group"], { powered: false })).toMatchObject({
    status: "active",
    next: { do: "nothing" },
    tenant: null,
  });
});

test("two lost: the message states that writes are stopped so that the data cannot diverge", () => {
  const { tenant } = judged(["sees nobody", "silent host", "lost host"]);
  expect(tenant).toEqual(texts.noMajority({ label: "db" }));
});

test("messages to tenants name no host; messages to operators name the host and the command", () => {
  const { tenant, operator } = judged(["in no group", "dead host", "lost host"]);
  expect(tenant?.text).not.toContain("host-");
  expect(operator?.text).toContain("moorage admin host dead host-2; moorage admin db bootstrap");
  expect(operator?.text).not.toContain("moorage admin host dead host-1");
});
