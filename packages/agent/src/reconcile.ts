import type { KeyObject } from "node:crypto";
import { setInterval as every } from "node:timers/promises";
import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { decide } from "./decide.ts";
import { guardDeletion, rememberDeletions, type Verdict } from "./deletion-guard.ts";
import { gateSteps } from "./gate/gate-steps.ts";
import { gather, listContainers } from "./gather.ts";
import type { HostRecordFile } from "./host-record.ts";
import { type NodeContext, type NodeDeps, nodeContext } from "./node-context.ts";
import { CannotHeal } from "./podman.ts";
import { provisionSteps } from "./provision-steps.ts";
import { renewSteps } from "./renew-steps.ts";
import type { Reporter } from "./reporter.ts";
import { stepDelayMs } from "./retry-delay.ts";
import { runSteps, StepFailed } from "./run-steps.ts";
import { tombstoneSteps } from "./tombstone-steps.ts";
import { neverHadData, usedDiskMb } from "./volume.ts";
import { createNodeQueue } from "./node-queue.ts";

export type ReconcileDeps = NodeDeps & {
  reporter: Pick<Reporter, "set" | "get" | "setUsedDisk">;
  record: HostRecordFile;
  operatorKey: KeyObject;
  deletionsPerWindow: number;
  deletionWindowMs: number;
};

const nodesAtOnce = 4;
const verifyEveryMs = 10_000;
/** After so many more tries, a list that could not be applied is called failed. */
const gateTries = 2;
/** A server that ran this long and then died is not in a crash loop. */
const stableMs = 60_000;

/** A month is left when renewal begins: a gateway that is away, or busy, need not be asked often. */
const renewAgainMs = 600_000;

type History = { attempt: number; runningSince?: number; gaveUpOn?: NodeSpec };

/**
 * Makes every stored spec true, again and again: it looks at what is wanted and what is there now, never at a queue
 * of commands. A node is worked on by one run at a time; a newer spec ends that run after its current step.
 */
export function createReconciler(deps: ReconcileDeps) {
  const histories = new Map<string, History>();
  const renewAfter = new Map<string, number>();
  const stop = new AbortController();
  const queue = createNodeQueue(nodesAtOnce, converge);
  const historyOf = (node: string): History => histories.get(node) ?? setHistory(node, { attempt: 0 });
  const setHistory = (node: string, history: History): History => {
    histories.set(node, history);
    return history;
  };

  async function converge(node: string): Promise<void> {
    const spec = deps.store.get(node);
    if (spec === undefined || historyOf(node).gaveUpOn === spec) return;
    const superseded = () => stop.signal.aborted || deps.store.get(node) !== spec;
    const context = nodeContext(
      { ...deps, log: deps.log.child({ node, generation: spec.generation }) },
      spec,
      superseded,
    );
    try {
      const seen = (await listContainers(deps.podman)).get(node);
      const decision = decide(spec, await gather(context, seen));
      if (decision.kind === "bury") await bury(context, decision.guarded);
      else if (decision.kind === "provision") await provision(context, decision.because);
      else if (decision.kind === "gate") await applyList(context);
      else if (decision.kind === "renew") await renew(context);
      else await running(context);
    } catch (error) {
      if (!superseded()) await failed(context, error);
    }
    // Asked of the store, not of the run: the last step may have been done and yet reported as failed.
    if (spec.tombstone && deps.store.get(node) === undefined) gone(context);
    if (!stop.signal.aborted && deps.store.get(node) !== undefined && deps.store.get(node) !== spec) queue.wake(node);
  }

  async function provision(context: NodeContext, because: string[]): Promise<void> {
    const { node } = context.spec;
    const { attempt, runningSince } = historyOf(node);
    context.log.info({ because, attempt }, "provisioning");
    if (runningSince !== undefined) {
      // It ran and is not running now: at once if it was stable, later and later if it keeps dying.
      const stable = performance.now() - runningSince > stableMs;
      setHistory(node, { attempt: stable ? 0 : attempt + 1 });
      const delay = stable ? 0 : stepDelayMs(attempt);
      if (delay > 0) return queue.wakeLater(node, delay);
    }
    const outcome = await runSteps(provisionSteps, context, progressOf(context.spec));
    if (outcome === "finished") await running(context);
  }

  async function running({ spec, paths, log }: NodeContext): Promise<void> {
    const used = await usedDiskMb(paths);
    if (deps.reporter.get(spec.node)?.state !== "running") log.info("running");
    const { attempt, runningSince } = historyOf(spec.node);
    setHistory(spec.node, { attempt, runningSince: runningSince ?? performance.now() });
    report(spec, { state: "running", percent: 100, ...(used !== undefined && { used_disk_mb: used }) });
  }

  async function applyList(context: NodeContext): Promise<void> {
    const outcome = await runSteps(gateSteps, context, progressOf(context.spec));
    if (outcome === "finished") await running(context);
  }

  async function renew(context: NodeContext): Promise<void> {
    const { node } = context.spec;
    await running(context);
    if (performance.now() < (renewAfter.get(node) ?? 0)) return;
    renewAfter.set(node, performance.now() + renewAgainMs);
    try {
      await runSteps(renewSteps, context, () => {});
      context.log.info("certificate renewed");
    } catch (error) {
      context.log.warn({ error: String(error) }, "the certificate could not be renewed");
    }
  }

  async function bury(context: NodeContext, guarded: boolean): Promise<void> {
    const { spec } = context;
    const verdict = guarded ? await admit(spec.node) : undefined;
    if (verdict?.kind === "held") {
      context.log.warn({ until: verdict.retryAt }, "deletion held");
      const message =
        `This host deletes ${deps.deletionsPerWindow} nodes in ${deps.deletionWindowMs / 1000} s by itself. ` +
        `Waiting until ${verdict.retryAt.toISOString()}, or for \`moorage host allow-deletions\`.`;
      report(spec, { state: "held", percent: 0, message });
      return queue.wakeLater(spec.node, Math.max(100, verdict.retryAt.getTime() - deps.clock().getTime()));
    }
    await runSteps(tombstoneSteps, context, progressOf(spec));
  }

  function gone({ spec, log }: NodeContext): void {
    log.info("gone");
    histories.delete(spec.node);
    renewAfter.delete(spec.node);
    report(spec, { state: "gone", percent: 100 });
  }

  /** Counted on the disk before the first step, and judged one at a time: four deletions cannot share the last place. */
  async function admit(node: string): Promise<Verdict | undefined> {
    let verdict: Verdict | undefined;
    await deps.record.update((before) => {
      const now = deps.clock();
      verdict = guardDeletion({
        node,
        now,
        deletions: before.deletions,
        perWindow: deps.deletionsPerWindow,
        windowMs: deps.deletionWindowMs,
        host: before.host,
        allowance: before.allowance,
        operatorKey: deps.operatorKey,
      });
      if (verdict.kind !== "admit") return before;
      return {
        ...before,
        deletions: [...rememberDeletions(before.deletions, now, before.allowance), verdict.deletion],
      };
    });
    return verdict;
  }

  async function failed({ spec, paths, log }: NodeContext, error: unknown): Promise<void> {
    const at = error instanceof StepFailed ? { step: error.step, percent: error.percent } : { percent: 0 };
    const message = (error instanceof Error ? error.message : String(error)).slice(0, 1000);
    const { attempt } = historyOf(spec.node);
    log.warn({ err: error, attempt }, "step failed");
    // Only a node that never had data is given up; one that ran before is tried for ever.
    if (cannotHeal(error) && !spec.tombstone && (await neverHadData(paths))) {
      setHistory(spec.node, { attempt, gaveUpOn: spec });
      return report(spec, { state: "failed", message, ...at });
    }
    setHistory(spec.node, { attempt: attempt + 1 });
    // Whoever waits for a new list is told while the old one is in force; the node itself serves, and we go on trying.
    const listRefused = error instanceof StepFailed && error.table === gateSteps.name && attempt >= gateTries;
    report(spec, { state: listRefused ? "failed" : "working", message, ...at });
    queue.wakeLater(spec.node, stepDelayMs(attempt + 1));
  }

  const report = ({ node, epoch, generation }: NodeSpec, rest: Omit<NodeReport, "node" | "epoch" | "generation">) =>
    deps.reporter.set({ node, epoch, generation, ...rest });
  const progressOf = (spec: NodeSpec) => (step: string, percent: number) =>
    report(spec, { state: "working", step, percent });

  /** One listing for all nodes; only those that are not as they should be are converged. */
  async function verify(): Promise<void> {
    const containers = await listContainers(deps.podman);
    for (const spec of deps.store.all()) {
      if (queue.isBusy(spec.node)) continue;
      const context = nodeContext(deps, spec, () => false);
      const decision = decide(spec, await gather(context, containers.get(spec.node)));
      if (decision.kind !== "nothing") queue.wake(spec.node);
      else deps.reporter.setUsedDisk(spec.node, await usedDiskMb(context.paths));
    }
  }

  async function keepVerifying(): Promise<void> {
    try {
      for await (const _ of every(verifyEveryMs, undefined, { signal: stop.signal }))
        await verify().catch((error: unknown) => deps.log.warn({ error: String(error) }, "verify failed"));
    } catch {
      // closed
    }
  }

  let verifying: Promise<void> | undefined;
  return {
    start(): void {
      for (const spec of deps.store.all()) queue.wake(spec.node);
      verifying = keepVerifying();
    },
    wake: (node: string): void => queue.wake(node),
    /** Its container ended. A run in hand sees that itself, and a waiting one waits because of it. */
    ended(node: string): void {
      if (!queue.isBusy(node)) queue.wake(node);
    },
    wakeTombstones(): void {
      for (const spec of deps.store.all()) if (spec.tombstone) queue.wake(spec.node);
    },
    idle: () => queue.idle(),
    async close(): Promise<void> {
      stop.abort();
      await Promise.all([queue.close(), verifying]);
    },
  };
}
export type Reconciler = ReturnType<typeof createReconciler>;

function cannotHeal(error: unknown): boolean {
  const cause = error instanceof StepFailed ? error.cause : error;
  return (
    cause instanceof CannotHeal || (cause instanceof Error && /ENOSPC|No space left on device/.test(cause.message))
  );
}
