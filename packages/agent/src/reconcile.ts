import type { KeyObject } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { setInterval as every } from "node:timers/promises";
import { isNewer, type NodeReport, type NodeSpec } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import { groupSteps } from "./cluster/group-steps.ts";
import { NotYet } from "./cluster/not-yet.ts";
import { baselineSteps } from "./baseline-steps.ts";
import { decide } from "./decide.ts";
import { guardDeletion, rememberDeletions, type Verdict } from "./deletion-guard.ts";
import { discardSteps } from "./discard-steps.ts";
import { failureVerdict } from "./failure-verdict.ts";
import { firewallSteps } from "./firewall/firewall-steps.ts";
import { GatewayAway } from "./gateway.ts";
import { gather, listContainers, type SeenContainer } from "./gather.ts";
import type { HostRecordFile } from "./host-record.ts";
import { type NodeContext, type NodeDeps, nodeContext } from "./node-context.ts";
import { readNodeRecord, updateNodeRecord, updateTimeline } from "./node-state.ts";
import { CannotHeal } from "./podman.ts";
import { powerOffSteps } from "./power-off-steps.ts";
import { provisionSteps, waitUntilReady } from "./provision-steps.ts";
import { renewSteps } from "./renew-steps.ts";
import type { Reporter } from "./reporter.ts";
import { stepDelayMs } from "./retry-delay.ts";
import { createRestorer } from "./restore/restorer.ts";
import { serveMeanwhile } from "./restore/serve-meanwhile.ts";
import { runSteps, StepFailed, type StepTable } from "./run-steps.ts";
import { isToBeMade, specMeanwhile } from "./timelines.ts";
import { tombstoneSteps } from "./tombstone-steps.ts";
import { neverHadData, usedDiskMb } from "./volume.ts";
import { createNodeQueue } from "./node-queue.ts";

export type ReconcileDeps = NodeDeps & {
  reporter: Pick<Reporter, "set" | "get">;
  record: HostRecordFile;
  operatorKey: KeyObject;
  deletionsPerWindow: number;
  deletionWindowMs: number;
};

const nodesAtOnce = 4;
const verifyEveryMs = 10_000;
/** A server that ran this long before it died is not in a crash loop. */
const stableMs = 60_000;

export const reachedStep = "agent.reached";

/** Renewal starts with a month left: an unreachable or busy gateway need not be asked often. */
const renewAgainMs = 600_000;
const baselineAgainMs = 60_000;

/** Attempts for one spec: a newer spec starts afresh, without the older one's retry delay. */
type History = { attempt: number; runningSince?: number; gaveUp?: true };

/**
 * Applies every stored spec, again and again: it compares the desired state with what exists now, and has no queue of
 * commands. Each node has one run at a time; a newer spec ends that run after its current step.
 */
export function createReconciler(deps: ReconcileDeps) {
  const histories = new Map<string, { spec: NodeSpec; history: History }>();
  const renewAfter = new Map<string, number>();
  const baselineAfter = new Map<string, number>();
  /** By node: the spec for which it last waited for other members. */
  const waits = new Map<string, NodeSpec>();
  const stop = new AbortController();
  const queue = createNodeQueue(nodesAtOnce, converge);
  /** By desired spec: the spec by which the node serves until the desired one can be applied. */
  const meanwhile = new WeakMap<NodeSpec, NodeSpec>();
  const restorer = createRestorer({ ...deps, changed: reportMaking, ended: (node) => queue.wake(node) });
  const historyOf = (spec: NodeSpec): History => {
    const known = histories.get(spec.node);
    return known?.spec === spec ? known.history : { attempt: 0 };
  };
  const setHistory = (spec: NodeSpec, history: History): void => void histories.set(spec.node, { spec, history });

  async function converge(node: string): Promise<void> {
    const spec = deps.store.get(node);
    if (spec === undefined || historyOf(spec).gaveUp) return;
    const superseded = () => stop.signal.aborted || deps.store.get(node) !== spec;
    const context = nodeContext(
      { ...deps, log: deps.log.child({ node, generation: spec.generation }) },
      spec,
      superseded,
    );
    try {
      const seen = (await listContainers(deps.podman)).get(node);
      if (await isToBeMade(context)) await restore(context, seen);
      else await act(context, seen);
    } catch (error) {
      const cause = error instanceof StepFailed ? error.cause : error;
      if (!superseded()) await (cause instanceof NotYet ? waiting(context, error, cause) : failed(context, error));
    }
    // Read from the store, not from the run: the last step may have succeeded although it was reported as failed.
    if (spec.tombstone && deps.store.get(node) === undefined) gone(context);
    if (!stop.signal.aborted && deps.store.get(node) !== undefined && deps.store.get(node) !== spec) queue.wake(node);
  }

  async function act(context: NodeContext, seen: SeenContainer | undefined): Promise<void> {
    await restorer.stop(context.spec.node);
    const decision = decide(context.spec, await gather(context, seen));
    if (decision.kind === "bury") await bury(context, decision.guarded);
    else if (decision.kind === "provision") await provision(context, decision.because);
    else if (decision.kind === "group") await serve(context, groupSteps);
    else if (decision.kind === "firewall") await serve(context, firewallSteps);
    else if (decision.kind === "baseline") await bringBaseline(context);
    else if (decision.kind === "renew") await renew(context);
    else if (decision.kind === "discard") await discard(context);
    else if (decision.kind === "power-off") await powerOff(context);
    else if (decision.kind === "rest") await resting(context);
    else await running(context);
  }

  /** Reports the progress of the restore; the node keeps serving with the data that it has. */
  async function restore(context: NodeContext, seen: SeenContainer | undefined): Promise<void> {
    const { spec, log, superseded } = context;
    await restorer.setDesired(spec);
    const before = await specMeanwhile(context);
    if (before !== undefined) meanwhile.set(spec, before);
    reportMaking(spec);
    if (before === undefined) return;
    const { attempt } = historyOf(spec);
    try {
      await serveMeanwhile(nodeContext({ ...deps, log }, before, superseded), seen);
      setHistory(spec, { attempt: 0 });
    } catch (error) {
      log.warn({ err: error, attempt }, "the previous timeline could not be served");
      setHistory(spec, { attempt: attempt + 1 });
      queue.wakeLater(spec.node, stepDelayMs(attempt + 1));
    }
  }

  function reportMaking(spec: NodeSpec): void {
    const making = restorer.stateOf(spec.node);
    const timeline = meanwhile.get(spec)?.data?.timeline;
    if (making !== undefined) report(spec, { ...making, ...(timeline !== undefined && { timeline }) });
  }

  async function discard(context: NodeContext): Promise<void> {
    await running(context);
    try {
      await runSteps(discardSteps, context, () => {});
      context.log.info("earlier timelines were moved to the trash");
    } catch (error) {
      context.log.warn({ error: String(error) }, "earlier timelines could not be discarded");
    }
  }

  async function provision(context: NodeContext, because: string[]): Promise<void> {
    const { node } = context.spec;
    const { attempt, runningSince } = historyOf(context.spec);
    context.log.info({ because, attempt }, "provisioning");
    if (runningSince !== undefined) {
      // It was running and has stopped: restarted at once if it was stable, with growing delays if it keeps dying.
      const stable = performance.now() - runningSince > stableMs;
      setHistory(context.spec, { attempt: stable ? 0 : attempt + 1 });
      const delay = stable ? 0 : stepDelayMs(attempt);
      if (delay > 0) return queue.wakeLater(node, delay);
    }
    const outcome = await runSteps(provisionSteps, context, progressOf(context.spec));
    if (outcome !== "finished") return;
    await running(context);
    // It serves on its desired timeline now, so others may have to be discarded.
    if (context.spec.data !== undefined) queue.wake(node);
  }

  async function running(context: NodeContext): Promise<void> {
    const { spec, paths, log } = context;
    const { attempt, runningSince } = historyOf(spec);
    // An interrupted run may have started it: the server runs, and may not answer yet.
    if (runningSince === undefined) await waitUntilReady(context);
    const used = await usedDiskMb(paths);
    if (deps.reporter.get(spec.node)?.state !== "running") log.info("running");
    setHistory(spec, { attempt, runningSince: runningSince ?? performance.now() });
    waits.delete(spec.node);
    await recordReached(context);
    report(spec, {
      state: "running",
      percent: 100,
      ...(used !== undefined && { used_disk_mb: used }),
      ...timelineOf(spec),
    });
  }

  async function powerOff(context: NodeContext): Promise<void> {
    const outcome = await runSteps(powerOffSteps, context, progressOf(context.spec));
    if (outcome === "finished") await resting(context);
  }

  async function resting(context: NodeContext): Promise<void> {
    const { spec, paths, log } = context;
    const used = await usedDiskMb(paths);
    if (deps.reporter.get(spec.node)?.state !== "stopped") log.info("stopped");
    setHistory(spec, { attempt: 0 });
    await recordReached(context);
    report(spec, { state: "stopped", percent: 100, ...(used !== undefined && { used_disk_mb: used }) });
  }

  /** Distinguishes a failed change from a node that failed without one, also after a restart of the agent. */
  async function recordReached({ spec: { epoch, generation, data }, paths }: NodeContext): Promise<void> {
    const { reached } = await readNodeRecord(paths);
    if (reached !== undefined && !isNewer({ epoch, generation }, reached)) return;
    await step(reachedStep, async () => {
      await mkdir(paths.folder, { recursive: true });
      await updateNodeRecord(paths, { reached: { epoch, generation } });
      if (data !== undefined) await updateTimeline(paths, { id: data.timeline });
    });
  }

  /** Runs a table that leaves the node as desired. */
  async function serve(context: NodeContext, table: StepTable): Promise<void> {
    const outcome = await runSteps(table, context, progressOf(context.spec));
    if (outcome === "finished") await running(context);
  }

  async function bringBaseline(context: NodeContext): Promise<void> {
    const { node } = context.spec;
    await running(context);
    if (performance.now() < (baselineAfter.get(node) ?? 0)) return;
    baselineAfter.set(node, performance.now() + baselineAgainMs);
    try {
      await runSteps(baselineSteps, context, () => {});
    } catch (error) {
      context.log.warn({ error: String(error) }, "the baseline could not be applied");
    }
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
      context.log.warn({ until: verdict.retryAt }, "the deletion is held by the limit of deletions");
      const message =
        `This host deletes ${deps.deletionsPerWindow} nodes in ${deps.deletionWindowMs / 1000} s without a permission. ` +
        `Waiting until ${verdict.retryAt.toISOString()}, or for \`moorage host allow-deletions\`.`;
      report(spec, { state: "held", percent: 0, message });
      return queue.wakeLater(spec.node, Math.max(100, verdict.retryAt.getTime() - deps.clock().getTime()));
    }
    await runSteps(tombstoneSteps, context, progressOf(spec));
  }

  function gone({ spec, log }: NodeContext): void {
    log.info("gone");
    histories.delete(spec.node);
    waits.delete(spec.node);
    renewAfter.delete(spec.node);
    baselineAfter.delete(spec.node);
    report(spec, { state: "gone", percent: 100 });
  }

  /** Counted on the disk before the first step, one at a time: four deletions cannot share the last free place. */
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

  /** Reported once, however often the node is checked again. */
  async function waiting({ spec, log }: NodeContext, error: unknown, { message, againMs }: NotYet): Promise<void> {
    const at = error instanceof StepFailed ? { step: error.step, percent: error.percent } : { percent: 0 };
    log.debug({ ...at, message }, "waiting");
    waits.set(spec.node, spec);
    reportUnlessFailed(spec, { state: "working", message: message.slice(0, 1000), ...at });
    queue.wakeLater(spec.node, againMs);
  }

  async function failed({ spec, paths, log }: NodeContext, error: unknown): Promise<void> {
    const at = error instanceof StepFailed ? { step: error.step, percent: error.percent } : { percent: 0 };
    const message = (error instanceof Error ? error.message : String(error)).slice(0, 1000);
    const { attempt } = historyOf(spec);
    log.warn({ err: error, attempt }, "step failed");
    const { reached } = await readNodeRecord(paths);
    const cause = error instanceof StepFailed ? error.cause : error;
    const verdict = failureVerdict({
      attempt,
      table: error instanceof StepFailed ? error.table : undefined,
      tombstone: spec.tombstone !== undefined,
      cannotHeal: cannotHeal(cause),
      gatewayAway: cause instanceof GatewayAway,
      neverHadData: await neverHadData(paths),
      changing: reached !== undefined && isNewer(spec, reached),
    });
    report(spec, { state: verdict === "working" ? "working" : "failed", message, ...at });
    if (verdict === "give up") return setHistory(spec, { attempt, gaveUp: true });
    setHistory(spec, { attempt: attempt + 1 });
    queue.wakeLater(spec.node, stepDelayMs(attempt + 1));
  }

  const report = ({ node, epoch, generation }: NodeSpec, rest: Omit<NodeReport, "node" | "epoch" | "generation">) =>
    deps.reporter.set({ node, epoch, generation, ...rest });
  /** A reported failure stays the answer for its generation until a run succeeds, however often it is retried. */
  const reportUnlessFailed: typeof report = (spec, rest) => {
    const lastReport = deps.reporter.get(spec.node);
    if (lastReport?.state !== "failed" || isNewer(spec, lastReport)) report(spec, rest);
  };
  const progressOf = (spec: NodeSpec) => (name: string, percent: number) => {
    if (waits.get(spec.node) !== spec) reportUnlessFailed(spec, { state: "working", step: name, percent });
  };

  /** One listing for all nodes; only those that differ from their spec are converged. */
  async function verify(): Promise<void> {
    const containers = await listContainers(deps.podman);
    for (const spec of deps.store.all()) {
      if (queue.isBusy(spec.node)) continue;
      const context = nodeContext(deps, spec, () => false);
      if (await isToBeMade(context)) {
        queue.wake(spec.node);
        continue;
      }
      const decision = decide(spec, await gather(context, containers.get(spec.node)));
      if (decision.kind !== "nothing" && decision.kind !== "rest") queue.wake(spec.node);
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
    /** The node's container ended. A run in progress notices that itself; a delayed one is delayed because of it. */
    ended(node: string): void {
      if (!queue.isBusy(node)) queue.wake(node);
    },
    wakeTombstones(): void {
      for (const spec of deps.store.all()) if (spec.tombstone) queue.wake(spec.node);
    },
    idle: () => queue.idle(),
    async close(): Promise<void> {
      stop.abort();
      await Promise.all([queue.close(), restorer.close(), verifying]);
    },
  };
}
export type Reconciler = ReturnType<typeof createReconciler>;

const timelineOf = ({ data }: NodeSpec): Pick<NodeReport, "timeline"> =>
  data === undefined ? {} : { timeline: data.timeline };

const cannotHeal = (cause: unknown): boolean =>
  cause instanceof CannotHeal || (cause instanceof Error && /ENOSPC|No space left on device/.test(cause.message));
