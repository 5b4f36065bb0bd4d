import { setTimeout as sleep } from "node:timers/promises";
import { type NodeReport, PROTOCOL, type DesiredReply, type DesiredRequest } from "@moorage/contract/agent";
import type { Logger } from "pino";
import type { Captures } from "./capture/captures.ts";
import type { HostRecord, HostRecordFile } from "./host-record.ts";
import type { Reporter } from "./reporter.ts";
import { networkDelayMs } from "./retry-delay.ts";
import type { Acceptance } from "./spec-acceptance.ts";
import type { SpecStore } from "./spec-store.ts";

export type PollDeps = {
  desired: (message: DesiredRequest, signal: AbortSignal) => Promise<DesiredReply>;
  store: SpecStore;
  record: HostRecordFile;
  reporter: Reporter;
  captures: Pick<Captures, "known" | "take">;
  reconciler: { wake: (node: string) => void; wakeTombstones: () => void };
  boot: string;
  version: string;
  trashMb: () => Promise<number>;
  clock: () => Date;
  log: Logger;
};

/** Polls until aborted. No answer or failure of the gateway ends it. */
export async function keepPolling(deps: PollDeps, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; !signal.aborted; ) {
    try {
      const { epoch, revision } = deps.record.get();
      const reply = await deps.desired(
        {
          protocol: PROTOCOL,
          agent: deps.version,
          epoch,
          revision,
          boot: deps.boot,
          now: deps.clock().toISOString(),
          trash_mb: await deps.trashMb(),
          captures: deps.captures.known(),
        },
        signal,
      );
      attempt = 0;
      // A gateway that was set back, or that sends unreadable specs, answers at once, every time.
      if ((await take(deps, reply)) !== "taken") await sleep(1000, undefined, { signal });
    } catch (error) {
      if (signal.aborted) return;
      deps.log.warn({ error: String(error) }, "poll failed");
      await sleep(networkDelayMs(attempt++), undefined, { signal }).catch(() => {});
    }
  }
}

/** Specs first, then the revision: after a crash between the two the same specs arrive again and are not newer. */
async function take(deps: PollDeps, reply: DesiredReply): Promise<"taken" | "set back" | "unreadable"> {
  const { store, record, reconciler, reporter, log } = deps;
  if (reply.digest) reporter.requestDigest(reply.epoch);
  if (isSetBack(reply, record.get())) {
    log.warn({ reply: [reply.epoch, reply.revision] }, "the control plane was set back; its reply is ignored");
    return "set back";
  }
  if (reply.allowance && reply.allowance.signature !== record.get().allowance?.signature) {
    const { allowance } = reply;
    await record.update((before) => ({ ...before, allowance }));
    reconciler.wakeTombstones();
  }
  const captures = deps.captures.take(reply.captures);
  if (captures === "unreadable") log.error("a capture in the desired state has no readable id and is skipped");
  if (reply.nodes === undefined) return captures;
  const woken: string[] = [];
  for (const raw of reply.nodes) {
    const acceptance = await store.offer(raw);
    const node = follow(acceptance, deps);
    if (node !== undefined) woken.push(node);
  }
  const { epoch, revision } = reply;
  await record.update((before) =>
    before.epoch === epoch && before.revision === revision ? before : { ...before, epoch, revision },
  );
  for (const node of woken) reconciler.wake(node);
  return captures;
}

/** Reports specs that need no work, and returns the node of one that does. */
export function follow(
  acceptance: Acceptance,
  { reporter, log }: Pick<PollDeps, "reporter" | "log">,
): string | undefined {
  if (acceptance.kind === "store") return acceptance.spec.node;
  if (acceptance.kind === "gone") reporter.set(goneReport(acceptance.record));
  if (acceptance.kind === "unreadable") log.error("a node in the desired state has no readable id and is skipped");
  if (acceptance.kind === "unsupported") {
    const { node, epoch, generation } = acceptance.envelope;
    log.error({ node, message: acceptance.message }, "unsupported spec");
    reporter.set({ node, epoch, generation, state: "unsupported", percent: 0, message: acceptance.message });
  }
  return undefined;
}

export const goneReport = (record: { spec: { node: string }; epoch: number; generation: number }): NodeReport => ({
  node: record.spec.node,
  epoch: record.epoch,
  generation: record.generation,
  state: "gone",
  percent: 100,
});

const isSetBack = (reply: DesiredReply, known: HostRecord): boolean =>
  reply.epoch !== known.epoch ? reply.epoch < known.epoch : reply.revision < known.revision;
