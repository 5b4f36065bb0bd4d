import { setTimeout as sleep } from "node:timers/promises";
import {
  type CaptureReport,
  type GroupReport,
  type NodeReport,
  type NodeSpec,
  type ObservedRequest,
  type PrimaryChange,
  PROTOCOL,
  type TaskReport,
} from "@moorage/contract/agent";
import type { Logger } from "pino";
import { networkDelayMs } from "../base/try-again.ts";
import {
  type Change,
  type Disk,
  type KnownNode,
  reportOf,
  whenToReport,
  withDisk,
  withGroup,
  withState,
  withTasks,
} from "./known-node.ts";

const progressEveryMs = 500;
const completeEveryMs = 300_000;

export type ReporterDeps = {
  /** The number of this start of the agent, which rises. */
  start: number;
  send: (message: ObservedRequest, signal: AbortSignal) => Promise<unknown>;
  /** Every node with its spec, including removed ones. */
  digest: () => NodeReport[];
  /** The spec of a node that the host has now. */
  specOf: (node: string) => NodeSpec | undefined;
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
  const nodes = new Map<string, KnownNode>();
  const changed = new Set<string>();
  let captures: CaptureReport[] = [];
  let capturesChanged = false;
  const stop = new AbortController();
  let completeDue = 0;
  let digestEpoch: number | undefined;
  let count = 0;
  let wakeUp = Promise.withResolvers<void>();
  let urgent = false;
  const wake = () => {
    urgent = true;
    wakeUp.resolve();
  };

  /** The seal shows that the control plane has sent this generation to this host. */
  const withSeal = (report: NodeReport): NodeReport => {
    const spec = deps.specOf(report.node);
    const isOfReport = spec?.epoch === report.epoch && spec.generation === report.generation;
    return isOfReport ? { ...report, seal: spec.seal } : report;
  };

  const knownOf = (node: string): KnownNode => nodes.get(node) ?? {};
  const get = (node: string): NodeReport | undefined => reportOf(knownOf(node));

  function apply(node: string, { known, report }: Change): void {
    nodes.set(node, known);
    if (report !== "not") changed.add(node);
    if (report === "now") wake();
  }

  async function message(): Promise<ObservedRequest | undefined> {
    const complete = Date.now() >= completeDue || digestEpoch !== undefined;
    const changes = await deps.changes.read();
    if (!complete && changed.size === 0 && !capturesChanged && changes.length === 0) return undefined;
    const unknown = await deps.unknown();
    const reports =
      digestEpoch !== undefined
        ? deps.digest()
        : [...(complete ? nodes.keys() : changed)].flatMap((node) => get(node) ?? []).map(withSeal);
    changed.clear();
    capturesChanged = false;
    const digest = digestEpoch !== undefined && { digest: digestEpoch };
    return {
      protocol: PROTOCOL,
      sequence: { start: deps.start, count: ++count },
      complete,
      ...digest,
      nodes: reports,
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
    get,
    start: () => (running ??= run()),
    close: async () => {
      stop.abort();
      wake();
      await running;
    },
    set: (report: NodeReport): void => apply(report.node, withState(knownOf(report.node), report)),
    setDisk: (node: string, disk: Disk): void => apply(node, withDisk(knownOf(node), disk)),
    setTasks: (node: string, tasks: TaskReport[]): void => apply(node, withTasks(knownOf(node), tasks)),
    setGroup: (node: string, group: GroupReport): void => apply(node, withGroup(knownOf(node), group)),
    /** All captures of the host. */
    setCaptures(reports: CaptureReport[]): void {
      const when = whenToReport(captures, reports);
      if (when === "not") return;
      captures = reports;
      capturesChanged = true;
      if (when === "now") wake();
    },
    requestDigest(epoch: number): void {
      digestEpoch = epoch;
      wake();
    },
  };
}
export type Reporter = ReturnType<typeof createReporter>;
