import { isNewer, type NodeReport } from "@moorage/contract/agent";
import type { FailureVerdict, NodeRun } from "./node-run.ts";

/** Where a run stopped: at a step, or before the first one. */
export type StoppedAt = Pick<NodeReport, "step" | "percent">;

export type ReportEvent =
  | { kind: "progress"; step: string; percent: number }
  /** The node waits for another member. */
  | { kind: "waiting"; message: string; at: StoppedAt }
  | { kind: "failed"; message: string; at: StoppedAt; verdict: FailureVerdict }
  /** The data of the desired timeline are being made, while the node may serve on another one. */
  | { kind: "making"; making: Pick<NodeReport, "state" | "step" | "percent" | "message"> }
  /** `held`: the limit of deletions holds something of a node that serves as desired. */
  | { kind: "running"; usedDiskMb: number | undefined; held?: string | undefined }
  | { kind: "stopped"; usedDiskMb: number | undefined }
  /** The server has not answered for a while. */
  | { kind: "unresponsive" }
  /** The limit of deletions holds the tombstone or the re-clone. */
  | { kind: "held"; message: string }
  | { kind: "gone" };

/** Whether the limit of deletions holds something of the node. Nothing else gives a node that runs a message. */
export const isHolding = (report: Pick<NodeReport, "state" | "message"> | undefined): boolean =>
  report?.state === "held" || (report?.state === "running" && report.message !== undefined);

const longestMessage = 1000;

/** The node's report after an event; undefined if the last one stays. Pure, so that the whole table can be tested. */
export function nextReport(
  { spec, isWaiting, serving }: Pick<NodeRun, "spec" | "isWaiting" | "serving">,
  last: NodeReport | undefined,
  event: ReportEvent,
): NodeReport | undefined {
  const { node, epoch, generation } = spec;
  const report = (rest: Omit<NodeReport, "node" | "epoch" | "generation">): NodeReport => ({
    node,
    epoch,
    generation,
    ...rest,
  });
  // A reported failure stays the answer for its generation until a run succeeds, however often it is retried.
  const hasFailed = last?.state === "failed" && !isNewer(spec, last);
  switch (event.kind) {
    case "progress": {
      const { step, percent } = event;
      return hasFailed || isWaiting ? undefined : report({ state: "working", step, percent });
    }
    case "waiting":
      return hasFailed ? undefined : report({ state: "working", message: shortened(event.message), ...event.at });
    case "failed": {
      const state = event.verdict === "working" ? "working" : "failed";
      return report({ state, message: shortened(event.message), ...event.at });
    }
    case "making":
      return report({ ...event.making, ...timelineOf(serving) });
    case "running":
      return report({
        state: "running",
        percent: 100,
        ...(event.held !== undefined && { message: event.held }),
        ...usedDisk(event),
        ...timelineOf(spec),
      });
    case "stopped":
      return report({ state: "stopped", percent: 100, ...usedDisk(event) });
    case "unresponsive": {
      const message = "The server does not answer.";
      return report({ state: "working", percent: 90, message, unresponsive: true, ...timelineOf(serving ?? spec) });
    }
    case "held":
      return report({ state: "held", percent: 0, message: event.message });
    case "gone":
      return report({ state: "gone", percent: 100 });
  }
}

const shortened = (message: string): string => message.slice(0, longestMessage);

const usedDisk = ({ usedDiskMb }: { usedDiskMb: number | undefined }): Pick<NodeReport, "used_disk_mb"> =>
  usedDiskMb === undefined ? {} : { used_disk_mb: usedDiskMb };

const timelineOf = (spec: NodeRun["serving"]): Pick<NodeReport, "timeline"> =>
  spec?.data === undefined ? {} : { timeline: spec.data.timeline };
