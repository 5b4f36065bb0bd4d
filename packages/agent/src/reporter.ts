import { setTimeout as sleep } from "node:timers/promises";
import { isNewer, type NodeReport, type ObservedRequest, PROTOCOL } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { networkDelayMs } from "./retry-delay.ts";

const progressEveryMs = 500;
const completeEveryMs = 300_000;

export type ReporterDeps = {
  send: (message: ObservedRequest, signal: AbortSignal) => Promise<unknown>;
  /** Every node with its spec, the gone ones too. */
  digest: () => NodeReport[];
  unknown: () => Promise<string[]>;
  log: Logger;
};

/**
 * The latest state of each node, and the telling of it. One request at a time: what changes meanwhile goes with the
 * next, and of a node only its last state. A report that was not acknowledged is told again.
 */
export function createReporter(deps: ReporterDeps) {
  const current = new Map<string, NodeReport>();
  const changed = new Set<string>();
  const stop = new AbortController();
  let completeDue = 0;
  let digestEpoch: number | undefined;
  let wakeUp = Promise.withResolvers<void>();
  let urgent = false;
  const wake = () => {
    urgent = true;
    wakeUp.resolve();
  };

  async function message(): Promise<ObservedRequest | undefined> {
    const complete = Date.now() >= completeDue || digestEpoch !== undefined;
    if (!complete && changed.size === 0) return undefined;
    const unknown = await deps.unknown();
    const nodes =
      digestEpoch !== undefined
        ? deps.digest()
        : [...(complete ? current.keys() : changed)].flatMap((node) => current.get(node) ?? []);
    changed.clear();
    return { protocol: PROTOCOL, complete, ...(digestEpoch !== undefined && { digest: digestEpoch }), nodes, unknown };
  }

  async function tell(): Promise<void> {
    const next = await message();
    if (next === undefined) return;
    try {
      await deps.send(next, stop.signal);
      if (next.complete) completeDue = Date.now() + completeEveryMs;
      if (digestEpoch === next.digest) digestEpoch = undefined;
    } catch (error) {
      for (const { node } of next.nodes) changed.add(node);
      throw error;
    }
  }

  async function run(): Promise<void> {
    for (let attempt = 0; !stop.signal.aborted; ) {
      wakeUp = Promise.withResolvers();
      urgent = false;
      try {
        await tell();
        attempt = 0;
      } catch (error) {
        if (stop.signal.aborted) return;
        deps.log.warn({ error: String(error) }, "report not delivered");
        await sleep(networkDelayMs(attempt++), undefined, { signal: stop.signal }).catch(() => {});
        continue;
      }
      const idle = changed.size > 0 ? progressEveryMs : 1000;
      if (!urgent)
        await Promise.race([wakeUp.promise, sleep(idle, undefined, { signal: stop.signal }).catch(() => {})]);
    }
  }

  let running: Promise<void> | undefined;
  return {
    get: (node: string): NodeReport | undefined => current.get(node),
    start: () => (running ??= run()),
    close: async () => {
      stop.abort();
      wake();
      await running;
    },
    /** Progress waits for the next beat; a state in which a node stays is told at once. */
    set(report: NodeReport): void {
      const before = current.get(report.node);
      if (before && (isNewer(before, report) || JSON.stringify(before) === JSON.stringify(report))) return;
      current.set(report.node, report);
      changed.add(report.node);
      if (report.state !== "working") wake();
    },
    setUsedDisk(node: string, mb: number | undefined): void {
      const before = current.get(node);
      if (before && mb !== undefined) current.set(node, { ...before, used_disk_mb: mb });
    },
    askDigest(epoch: number): void {
      digestEpoch = epoch;
      wake();
    },
  };
}
export type Reporter = ReturnType<typeof createReporter>;
