import { expect, test } from "vitest";
import type { GroupReport } from "@moorage/contract/agent";
import type { Text } from "@moorage/contract/texts";
import type { Judged } from "../member-condition.ts";
import { lossOf, phasesOf, receiptOf } from "./receipt.ts";
import { texts } from "./texts.ts";

const A = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const at = "2026-01-01T00:00:00Z";
const TIMELINE = "3e11fa47-71ca-41e1-8e33-c80aa9429562";

test("the first report of each phase counts, and the last proxy that followed", () => {
  const reports = {
    one: { at, missed: 900, elected: 6000, led: 6300 },
    two: { at, missed: 800, elected: 6100, led: 6250 },
    three: { at, led: 9000 },
  };
  expect(phasesOf(reports)).toEqual({ missed: 800, elected: 6000, led: 6250, all_led: 9000 });
  expect(phasesOf({})).toEqual({ missed: null, elected: null, led: null, all_led: null });
});

const saved = (gtid: string): GroupReport["saved_errant"] => ({ name: "lost/2.ab", gtid, bytes: 1, sha256: "c" });
const outOfGroup = { state: "offline", online: 0, shared: false, term: 3 } as const;
const follows = { state: "online", role: "secondary", online: 3, shared: true } as const;

/** How the primary of the terms before 3 is observed. */
const olds: Record<string, Partial<Judged> | undefined> = {
  "was replaced": undefined,
  "has not reported since": { report: { ...follows, role: "primary", term: 2 } },
  follows: { report: { ...follows, term: 3 } },
  "is primary again, later": { report: { ...follows, role: "primary", term: 4 } },
  "has four of its own": { report: { ...outOfGroup, errant: `${A}:6-9` } },
  "has four of its own, saved": { report: { ...outOfGroup, errant: `${A}:6-9`, saved_errant: saved(`${A}:6-9`) } },
  "has four of its own, and saved others before": {
    report: { ...outOfGroup, errant: `${A}:6-9`, saved_errant: saved(`${A}:3-5`) },
  },
  "has four of its own on a dead host": {
    report: { ...outOfGroup, errant: `${A}:6-9` },
    host: { name: "h", dead: true, silentSeconds: 40, unseenSeconds: 40 },
  },
  "is on a dead host": { host: { name: "h", dead: true, silentSeconds: 40, unseenSeconds: 40 }, condition: "lost" },
  "is on a silent host": {
    host: { name: "h", dead: false, silentSeconds: 400, unseenSeconds: 400 },
    condition: "lost",
  },
  "cannot be read": { report: { ...outOfGroup, unusable: "Its logs are gone." }, condition: "broken" },
};
const aftermath = (kind: string, minutes: number) => {
  const old: Judged | undefined =
    kind in olds && olds[kind] === undefined
      ? undefined
      : {
          node: "n0",
          ordinal: 0,
          state: "working",
          message: null,
          report: null,
          unhealthySeconds: 40,
          host: { name: "h", dead: false, silentSeconds: 1, unseenSeconds: 1 },
          condition: "recovering",
          ...olds[kind],
        };
  return { planned: false, timeline: TIMELINE, old, now: new Date(Date.parse(at) + minutes * 60_000) };
};
const change = { view: "3e11fa47.3", group_id: TIMELINE, at: new Date(at) };
const unknown = (why: Text) => ({ lost: null, why });

test.each([
  ["follows", 1, { lost: 0 }],
  ["is primary again, later", 1, { lost: 0 }],
  ["has not reported since", 9, undefined],
  ["has not reported since", 10, unknown(texts.lossUnknownLate())],
  ["has four of its own", 1, undefined],
  ["has four of its own", 10, { lost: 4 }],
  ["has four of its own, saved", 1, { lost: 4, saved: "lost/2.ab" }],
  ["has four of its own, and saved others before", 1, undefined],
  ["has four of its own on a dead host", 1, { lost: 4 }],
  ["is on a silent host", 9, undefined],
  ["is on a dead host", 1, unknown(texts.lossUnknownHostGone())],
  ["was replaced", 1, unknown(texts.lossUnknownReplaced())],
  ["cannot be read", 1, unknown(texts.lossUnknownUnreadable())],
])("the old primary %s, %i minutes later: %j", (kind, minutes, loss) => {
  expect(lossOf(change, aftermath(kind, minutes))).toEqual(loss);
});

test("a planned change loses nothing, and after a change of timeline the loss is unknown", () => {
  expect(lossOf(change, { ...aftermath("has not reported since", 0), planned: true })).toEqual({ lost: 0 });
  expect(lossOf(change, { ...aftermath("follows", 1), timeline: A })).toEqual(unknown(texts.lossUnknownRestored()));
});

test("saved lost transactions are named, with their expiry", () => {
  const receipt = receiptOf({
    from: 0,
    to: 1,
    planned: false,
    reports: {},
    gtid_before: null,
    gtid_after: null,
    loss: { lost: 4 },
    saved: { name: "lost/2.ab", expires_at: new Date("2026-01-08T00:00:00Z") },
  });
  expect(receipt).toEqual({
    code: "cluster.failover_receipt",
    text: "Failover from node 0 to node 1. Transactions lost: 4. The operator keeps them as lost/2.ab until 2026-01-08T00:00:00 UTC.",
  });
});

test("a long GTID set is cut, and an unknown loss is stated as unknown", () => {
  const receipt = receiptOf({
    from: 0,
    to: 2,
    planned: true,
    reports: {},
    loss: unknown(texts.lossUnknownHostGone()),
    gtid_before: `${A}:${Array.from({ length: 400 }, (_, n) => 2 * n + 1).join(":")}`,
    gtid_after: null,
  });
  expect(receipt.text).toMatch(
    /^Planned switchover from node 0 to node 2\. Transactions lost: unknown, because the host of the old primary is gone\. GTID before: /,
  );
  expect(receipt.text.length).toBeLessThan(500);
});
