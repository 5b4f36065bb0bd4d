import type { NodeReport } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { testSpec } from "../testing/node-spec.ts";
import { isHolding, nextReport, type ReportEvent } from "./next-report.ts";
import { runFor } from "./node-run.ts";

const timeline = "10000000-0000-4000-8000-000000000001";
const earlier = "10000000-0000-4000-8000-000000000002";
const plain = testSpec({ generation: 3 });
const { node, epoch, generation } = plain;
const restored = { ...plain, data: { timeline, ordinal: 1, origin: "archive" as const } };
const run = runFor(plain, undefined);
const ofRestored = {
  ...runFor(restored, undefined),
  serving: { ...plain, data: { timeline: earlier, ordinal: 0, origin: "prepared" as const } },
};
const reportOf = (rest: Pick<NodeReport, "state"> & Partial<NodeReport>): NodeReport => ({
  node,
  epoch,
  generation,
  percent: 0,
  ...rest,
});
const failed = reportOf({ state: "failed", message: "the disk is full" });
const failedBefore = { ...failed, generation: generation - 1 };

const progress: ReportEvent = { kind: "progress", step: "volume", percent: 20 };
const waiting: ReportEvent = { kind: "waiting", message: "Waiting.", at: { step: "group", percent: 90 } };
const failure = (verdict: "give up" | "failed" | "working"): ReportEvent => ({
  kind: "failed",
  message: "volume: full",
  at: { percent: 0 },
  verdict,
});
const making: ReportEvent = { kind: "making", making: { state: "working", step: "restore logs", percent: 60 } };
const working = reportOf({ state: "working", step: "volume", percent: 20 });
const waits = reportOf({ state: "working", message: "Waiting.", step: "group", percent: 90 });
const ends = (state: NodeReport["state"]): NodeReport => reportOf({ state, message: "volume: full" });

const cases: [string, Parameters<typeof nextReport>[0], NodeReport | undefined, ReportEvent, NodeReport | undefined][] =
  [
    ["progress", run, undefined, progress, working],
    ["progress after a failure of an earlier generation", run, failedBefore, progress, working],
    ["progress after a failure is not reported", run, failed, progress, undefined],
    ["progress while it waits is not reported", { ...run, isWaiting: true }, undefined, progress, undefined],
    ["waiting", { ...run, isWaiting: true }, undefined, waiting, waits],
    ["waiting after a failure is not reported", run, failed, waiting, undefined],
    ["a failure that is retried", run, undefined, failure("working"), ends("working")],
    ["a failure that is reported", run, undefined, failure("failed"), ends("failed")],
    ["a failure that is final", run, undefined, failure("give up"), ends("failed")],
    ["a retried failure after a reported one", run, failed, failure("working"), ends("working")],
    ["running", run, failed, { kind: "running", usedDiskMb: undefined }, reportOf({ state: "running", percent: 100 })],
    [
      "running with its disk and timeline",
      ofRestored,
      undefined,
      { kind: "running", usedDiskMb: 7 },
      reportOf({ state: "running", percent: 100, used_disk_mb: 7, timeline }),
    ],
    [
      "running, with what the limit of deletions holds of it",
      run,
      undefined,
      { kind: "running", usedDiskMb: undefined, held: "Timeline 0 is held." },
      reportOf({ state: "running", percent: 100, message: "Timeline 0 is held." }),
    ],
    [
      "stopped, without its timeline",
      ofRestored,
      undefined,
      { kind: "stopped", usedDiskMb: 7 },
      reportOf({ state: "stopped", percent: 100, used_disk_mb: 7 }),
    ],
    [
      "a restore, with the timeline that serves meanwhile",
      ofRestored,
      undefined,
      making,
      reportOf({ state: "working", step: "restore logs", percent: 60, timeline: earlier }),
    ],
    [
      "a restore of a node that serves nothing",
      run,
      undefined,
      making,
      reportOf({ state: "working", step: "restore logs", percent: 60 }),
    ],
    [
      "held",
      run,
      undefined,
      { kind: "held", message: "Waiting until then." },
      reportOf({ state: "held", message: "Waiting until then." }),
    ],
    ["gone", run, failed, { kind: "gone" }, reportOf({ state: "gone", percent: 100 })],
  ];
test.each(cases)("%s", (_, of, last, event, expected) => {
  expect(nextReport(of, last, event)).toEqual(expected);
});

test.each([
  ["a held removal or re-clone", { state: "held", message: "It is held." }, true],
  ["a node that runs while an earlier timeline is held", { state: "running", message: "It is held." }, true],
  ["a node that runs", { state: "running" }, false],
  ["a node that waits", { state: "working", message: "Waiting." }, false],
  ["a failed node", { state: "failed", message: "It failed." }, false],
] as const)("whether something is held: %s", (_, seen, expected) => {
  expect(isHolding(seen)).toBe(expected);
});

test("a message has at most 1000 characters", () => {
  const event: ReportEvent = { kind: "failed", message: "x".repeat(2000), at: { percent: 0 }, verdict: "failed" };
  expect(nextReport(run, undefined, event)?.message).toHaveLength(1000);
});
