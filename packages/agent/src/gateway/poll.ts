import { setTimeout as sleep } from "node:timers/promises";
import {
  type DesiredReply,
  type DesiredRequest,
  type NodeReport,
  PROTOCOL,
  type RevokedKeys,
} from "@moorage/contract/agent";
import type { Logger } from "pino";
import type { Captures } from "../capture/captures.ts";
import type { HostRecord, HostRecordFile } from "../specs/host-record.ts";
import type { Reporter } from "./reporter.ts";
import { networkDelayMs } from "../base/try-again.ts";
import type { Acceptance, TombstoneRecord } from "../specs/spec-acceptance.ts";
import type { SpecStore } from "../specs/spec-store.ts";

export type PollDeps = {
  desired: (message: DesiredRequest, signal: AbortSignal) => Promise<DesiredReply>;
  store: SpecStore;
  record: HostRecordFile;
  reporter: Reporter;
  captures: Pick<Captures, "known" | "take">;
  revoked: { version: () => Promise<string | undefined>; save: (keys: RevokedKeys) => Promise<void> };
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
      const { epoch, revision, told } = deps.record.get();
      const reply = await deps.desired(
        {
          protocol: PROTOCOL,
          agent: deps.version,
          epoch,
          revision,
          told,
          boot: deps.boot,
          now: deps.clock().toISOString(),
          trash_mb: await deps.trashMb(),
          revoked: await deps.revoked.version(),
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

/**
 * Specs first, then the revision: after a crash between the two the same specs arrive again and are not newer. The
 * statement is recorded before both: a control plane that was set back meanwhile would not know of specs without a
 * revision.
 */
async function take(deps: PollDeps, reply: DesiredReply): Promise<"taken" | "set back" | "unreadable"> {
  const { store, record, reconciler, reporter, log } = deps;
  if (reply.digest) reporter.requestDigest(reply.epoch);
  if (isSetBack(reply, record.get())) {
    log.warn({ reply: [reply.epoch, reply.revision] }, "the control plane was set back; its reply is ignored");
    return "set back";
  }
  const { epoch, revision, told } = reply;
  if (told !== undefined) await record.update((before) => ({ ...before, told }));
  if (reply.revoked !== undefined) await deps.revoked.save(reply.revoked);
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
    const { node, epoch, generation, seal } = acceptance.envelope;
    log.error({ node, message: acceptance.message }, "unsupported spec");
    reporter.set({ node, epoch, generation, seal, state: "unsupported", percent: 0, message: acceptance.message });
  }
  return undefined;
}

export const goneReport = (record: Pick<TombstoneRecord, "spec" | "epoch" | "generation">): NodeReport => ({
  node: record.spec.node,
  epoch: record.epoch,
  generation: record.generation,
  seal: record.spec.seal,
  state: "gone",
  percent: 100,
});

/** The reply is of an earlier desired state than the one that this host has on its disk. */
export const isSetBack = (
  reply: Pick<DesiredReply, "epoch" | "revision">,
  known: Pick<HostRecord, "epoch" | "revision">,
): boolean => (reply.epoch !== known.epoch ? reply.epoch < known.epoch : reply.revision < known.revision);
