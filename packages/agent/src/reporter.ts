import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import {
  type CaptureReport,
  type DiskState,
  type GroupReport,
  isNewer,
  type TaskReport,
  type NodeReport,
  type ObservedRequest,
  type PrimaryChange,
  PROTOCOL,
} from "@moorage/contract/agent";
import type { Logger } from "pino";
import { networkDelayMs } from "./retry-delay.ts";

const progressEveryMs = 500;
const completeEveryMs = 300_000;
const noticedMb = 64;

type Disk = { used_disk_mb: number; disk: DiskState };

export type ReporterDeps = {
  send: (message: ObservedRequest, signal: AbortSignal) => Promise<unknown>;
  /** Every node with its spec, including removed ones. */
  digest: () => NodeReport[];
  unknown: () => Promise<string[]>;
  /** Changes of primary that the gatekeeper recorded; removed once they were reported. */
  changes: { read: () => Promise<PrimaryChange[]>; remove: (reported: PrimaryChange[]) => Promise<void> };
  log: Logger;
};

/**
 * Keeps the latest state of each node and reports it. One request at a time: changes meanwhile go with the next one,
 * each node with its latest state only. An unacknowledged report is sent again.
 */
export function createReporter(deps: ReporterDeps) {
  const current = new Map<string, NodeReport>();
  const disks = new Map<string, Disk>();
  const tasks = new Map<string, TaskReport[]>();
  const groups = new Map<string, GroupReport>();
  const changed = new Set<string>();
  let captures: CaptureReport[] = [];
  let capturesChanged = false;
  const stop = new AbortController();
  let completeDue = 0;
  let digestEpoch: number | undefined;
  let wakeUp = Promise.withResolvers<void>();
  let urgent = false;
  const wake = () => {
    urgent = true;
    wakeUp.resolve();
  };

  /** Adds tasks and group to each report of a node: they are set separately, and its next report must not drop them. */
  function reportOf(node: string): NodeReport | undefined {
    const [known, ofNode, group] = [current.get(node), tasks.get(node), groups.get(node)];
    return known && { ...known, ...(ofNode && { tasks: ofNode }), ...(group && { group }) };
  }

  async function message(): Promise<ObservedRequest | undefined> {
    const complete = Date.now() >= completeDue || digestEpoch !== undefined;
    const changes = await deps.changes.read();
    if (!complete && changed.size === 0 && !capturesChanged && changes.length === 0) return undefined;
    const unknown = await deps.unknown();
    const nodes =
      digestEpoch !== undefined
        ? deps.digest()
        : [...(complete ? current.keys() : changed)].flatMap((node) => reportOf(node) ?? []);
    changed.clear();
    capturesChanged = false;
    const digest = digestEpoch !== undefined && { digest: digestEpoch };
    return {
      protocol: PROTOCOL,
      complete,
      ...digest,
      nodes,
      ...(captures.length > 0 && { captures }),
      ...(changes.length > 0 && { changes }),
      unknown,
    };
  }

  async function sendReport(): Promise<void> {
    const next = await message();
    if (next === undefined) return;
    try {
      await deps.send(next, stop.signal);
      if (next.changes !== undefined) await deps.changes.remove(next.changes);
      if (next.complete) completeDue = Date.now() + completeEveryMs;
      if (digestEpoch === next.digest) digestEpoch = undefined;
    } catch (error) {
      for (const { node } of next.nodes) changed.add(node);
      capturesChanged = true;
      throw error;
    }
  }

  async function run(): Promise<void> {
    for (let attempt = 0; !stop.signal.aborted; ) {
      wakeUp = Promise.withResolvers();
      urgent = false;
      try {
        await sendReport();
        attempt = 0;
      } catch (error) {
        if (stop.signal.aborted) return;
        deps.log.warn({ error: String(error) }, "the report could not be sent");
        await sleep(networkDelayMs(attempt++), undefined, { signal: stop.signal }).catch(() => {});
        continue;
      }
      const idle = changed.size > 0 || capturesChanged ? progressEveryMs : 1000;
      if (!urgent)
        await Promise.race([wakeUp.promise, sleep(idle, undefined, { signal: stop.signal }).catch(() => {})]);
    }
  }

  let running: Promise<void> | undefined;
  return {
    get: reportOf,
    start: () => (running ??= run()),
    close: async () => {
      stop.abort();
      wake();
      await running;
    },
    /** Progress waits for the next heartbeat; a final state is reported at once. */
    set(nodeReport: NodeReport): void {
      if (nodeReport.state === "gone") {
        disks.delete(nodeReport.node);
        groups.delete(nodeReport.node);
      }
      const report = { ...disks.get(nodeReport.node), ...nodeReport };
      const before = current.get(report.node);
      if (before && (isNewer(before, report) || JSON.stringify(before) === JSON.stringify(report))) return;
      current.set(report.node, report);
      changed.add(report.node);
      if (report.state !== "working") wake();
    },
    /** A change of state is reported at once, a change of size once it is large enough for a tenant to notice. */
    setDisk(node: string, disk: Disk): void {
      disks.set(node, disk);
      const before = current.get(node);
      if (before === undefined) return;
      const moved = Math.abs(disk.used_disk_mb - (before.used_disk_mb ?? 0)) >= noticedMb;
      if (before.disk === disk.disk && !moved) return;
      current.set(node, { ...before, ...disk });
      changed.add(node);
      if (before.disk !== disk.disk) wake();
    },
    /** All tasks of the node. Progress waits for the next heartbeat; the end of a task is reported at once. */
    setTasks(node: string, reports: TaskReport[]): void {
      const before = tasks.get(node);
      if (JSON.stringify(before ?? []) === JSON.stringify(reports)) return;
      if (reports.length === 0) tasks.delete(node);
      else tasks.set(node, reports);
      changed.add(node);
      const hasEnded = ({ id, state }: TaskReport) =>
        state !== "working" && before?.find((task) => task.id === id)?.state !== state;
      if (reports.some(hasEnded)) wake();
    },
    /** A change of primary or of membership is reported at once; the backlog waits for the next heartbeat. */
    setGroup(node: string, group: GroupReport): void {
      const before = groups.get(node);
      if (isDeepStrictEqual(before, group)) return;
      groups.set(node, group);
      if (!current.has(node)) return;
      changed.add(node);
      const isBacklogOnly = isDeepStrictEqual({ ...before, backlog_seconds: 0 }, { ...group, backlog_seconds: 0 });
      if (!isBacklogOnly) wake();
    },
    /** All captures of the host. Progress waits for the next heartbeat; the end of a capture is reported at once. */
    setCaptures(reports: CaptureReport[]): void {
      if (JSON.stringify(captures) === JSON.stringify(reports)) return;
      const hasEnded = ({ id, state }: CaptureReport) =>
        state !== "working" && captures.find((known) => known.id === id)?.state !== state;
      const isUrgent = reports.some(hasEnded);
      captures = reports;
      capturesChanged = true;
      if (isUrgent) wake();
    },
    requestDigest(epoch: number): void {
      digestEpoch = epoch;
      wake();
    },
  };
}
export type Reporter = ReturnType<typeof createReporter>;
