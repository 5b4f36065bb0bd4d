import { setTimeout as sleep } from "node:timers/promises";
import { Capture, type CaptureReport } from "@moorage/contract/agent";
import type { Logger } from "pino";
import { z } from "zod";
import { GatewayAway } from "../base/try-again.ts";
import { CannotCapture } from "./open-device.ts";

export type CapturesDeps = {
  /** One try; returns the folder that holds the disk. */
  captureOnce: (
    capture: Capture,
    order: { signal: AbortSignal; progress: (percent: number) => void },
  ) => Promise<{ content: string }>;
  /** The host's limit of one heavy work at a time. */
  oneAtATime: <T>(key: string, work: () => Promise<T>) => Promise<T>;
  /** Sends all reports whenever one has changed. */
  report: (reports: CaptureReport[]) => void;
  log: Logger;
};

/** With the delays between them about two minutes; the requesting operation has a deadline of its own. */
const triesInAll = 8;
const delayMs = (count: number): number => Math.min(500 * 2 ** count, 30_000);

type Known = { report: CaptureReport; end: AbortController };

/**
 * The captures of disks that the control plane currently requests from this host. Outcomes are in memory only: a
 * restarted agent starts each capture again, in a new folder.
 */
export function createCaptures(deps: CapturesDeps) {
  const all = new Map<string, Known>();
  const running = new Set<Promise<void>>();
  const stop = new AbortController();
  const reportAll = (): void => deps.report([...all.values()].map(({ report }) => report));

  function change(id: string, to: Partial<CaptureReport>): void {
    const known = all.get(id);
    if (known === undefined) return;
    known.report = { ...known.report, ...to };
    reportAll();
  }

  async function attempts(capture: Capture, signal: AbortSignal): Promise<{ content: string }> {
    for (let count = 1; ; count++) {
      try {
        return await deps.oneAtATime(`capture ${capture.id}`, async () => {
          signal.throwIfAborted();
          return deps.captureOnce(capture, { signal, progress: (percent) => change(capture.id, { percent }) });
        });
      } catch (error) {
        signal.throwIfAborted();
        deps.log.warn({ capture: capture.id, device: capture.device, tries: count, err: error }, "capture failed");
        // While the gateway is unreachable, a failure could not be reported either: keep trying.
        const isHopeless = error instanceof CannotCapture || (count >= triesInAll && !(error instanceof GatewayAway));
        if (isHopeless) throw error;
        change(capture.id, { percent: 0 });
        await sleep(delayMs(count), undefined, { signal });
      }
    }
  }

  async function run(capture: Capture, signal: AbortSignal): Promise<void> {
    try {
      const { content } = await attempts(capture, signal);
      deps.log.info({ capture: capture.id, device: capture.device, content }, "disk captured");
      change(capture.id, { state: "done", percent: 100, content });
    } catch (error) {
      if (signal.aborted) return;
      change(capture.id, { state: "failed", message: sentenceOf(error) });
    }
  }

  function begin(raw: unknown): void {
    const { data: named } = Named.safeParse(raw);
    if (named === undefined || all.has(named.id)) return;
    const capture = Capture.safeParse(raw);
    const end = new AbortController();
    all.set(named.id, { report: { id: named.id, state: "working", percent: 0 }, end });
    if (!capture.success) {
      deps.log.error({ capture: named.id, error: z.prettifyError(capture.error) }, "unsupported capture");
      change(named.id, { state: "failed", message: TOO_OLD });
      return;
    }
    const work = run(capture.data, AbortSignal.any([stop.signal, end.signal])).finally(() => running.delete(work));
    running.add(work);
  }

  return {
    known: (): string[] => [...all.keys()],
    /** All captures desired now: absent ones are dropped, new ones start. Undefined: nothing has changed. */
    take(desired: readonly unknown[] | undefined): "taken" | "unreadable" {
      if (desired === undefined) return "taken";
      const ids = desired.flatMap((raw) => Named.safeParse(raw).data?.id ?? []);
      for (const [id, { end }] of all) {
        if (ids.includes(id)) continue;
        all.delete(id);
        end.abort(new Error("The capture is no longer requested."));
      }
      for (const raw of desired) begin(raw);
      reportAll();
      return ids.length === desired.length ? "taken" : "unreadable";
    },
    async close(): Promise<void> {
      stop.abort(new Error("The agent is stopping."));
      await Promise.all(running);
    },
  };
}
export type Captures = ReturnType<typeof createCaptures>;

const Named = z.object({ id: z.uuid() });
const TOO_OLD = "The agent of the disk's host is too old for this capture. Ask the operator to update the agent.";

function sentenceOf(error: unknown): string {
  if (error instanceof CannotCapture) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EIO") return "The disk's host could not read the disk: its device reports errors. Ask the operator.";
  if (code === "EACCES" || code === "EPERM") return "The disk's host may not read the disk. Ask the operator.";
  return "The disk's host could not upload the disk to the object store. Try again later.";
}
