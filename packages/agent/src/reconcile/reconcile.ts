import { setInterval as every } from "node:timers/promises";
import type { NodeSpec } from "@moorage/contract/agent";
import { firewallSteps } from "../access/firewall-steps.ts";
import { createBackground } from "../base/background.ts";
import { quietMs } from "../base/try-again.ts";
import { createNodeQueue } from "../base/node-queue.ts";
import { runSteps, type StepTable } from "../base/run-steps.ts";
import type { Reporter } from "../gateway/reporter.ts";
import { isInhabited } from "../node/network.ts";
import { nodeContext } from "../node/node-context.ts";
import { isToBeMade, specMeanwhile } from "../node/timelines.ts";
import { groupSteps } from "../provision/group-steps.ts";
import { provisionSteps } from "../provision/provision-steps.ts";
import { createRestorer } from "../restore/restorer.ts";
import { usedIds } from "../specs/node-state.ts";
import { cloneIsHeldBy, isStillDue } from "../replication/member/clone-rules.ts";
import { type Decision, decide } from "./decide.ts";
import { gather, listContainers, type SeenContainer } from "./gather.ts";
import {
  handle,
  handleError,
  type HandlerContext,
  isWaiting,
  recordOutcome,
  report,
  serveWhileCloning,
  serveWhileSilent,
} from "./handlers.ts";
import type { LivenessLimits } from "./judge-liveness.ts";
import { type NodeRun, runFor } from "./node-run.ts";
import { powerOffSteps } from "./power-off-steps.ts";
import type { StepContext, StepDeps } from "./step-context.ts";
import { createLivenessWatch } from "./watch-liveness.ts";

export type ReconcileDeps = Omit<StepDeps, "background"> & {
  reporter: Pick<Reporter, "set" | "get">;
  liveness: LivenessLimits;
};

const nodesAtOnce = 4;
const verifyEveryMs = 10_000;

/**
 * Applies every stored spec, again and again: it compares the desired state with what exists now, and has no queue of
 * commands. Each node has one run at a time; a newer spec ends that run after its current step.
 */
export function createReconciler(deps: ReconcileDeps) {
  const { store, podman } = deps;
  const runs = new Map<string, NodeRun>();
  const stop = new AbortController();
  const queue = createNodeQueue(nodesAtOnce, converge);
  const background = createBackground({ isHeldBy: cloneIsHeldBy, wake: (node) => queue.wake(node) });
  const liveness = createLivenessWatch({
    ...deps,
    specs: store.all,
    reportOf: deps.reporter.get,
    limits: deps.liveness,
    wake: (node) => queue.wake(node),
  });
  const restorer = createRestorer({ ...deps, changed: reportMaking, ended: (node) => queue.wake(node) });

  async function converge(node: string): Promise<void> {
    const spec = store.get(node);
    if (spec === undefined) return;
    const run = runFor(spec, runs.get(node));
    runs.set(node, run);
    if (run.attempts.gaveUp) return;
    const superseded = () => stop.signal.aborted || store.get(node) !== spec;
    const context: HandlerContext = nodeContext(
      {
        ...deps,
        background,
        log: deps.log.child({ node, generation: spec.generation }),
        run,
        wake: () => queue.wake(node),
        wakeLater: (ms: number) => queue.wakeLater(node, ms),
      },
      spec,
      superseded,
    );
    background.beginRun(node);
    let failure: unknown;
    try {
      if (!(await isCloning(context)) && !(await isSilent(context))) await convergeWithServer(context);
    } catch (error) {
      failure = error;
      if (!superseded()) await handleError(context, error);
    }
    if (!superseded() && (failure === undefined || isWaiting(failure))) await background.endUnrequested(node);
    // Read from the store, not from the run: the last step may have succeeded although it was reported as failed.
    if (spec.tombstone && store.get(node) === undefined) {
      context.log.info("gone");
      runs.delete(node);
      report(context, { kind: "gone" });
    }
    if (!stop.signal.aborted && store.get(node) !== undefined && store.get(node) !== spec) queue.wake(node);
  }

  async function convergeWithServer(context: HandlerContext): Promise<void> {
    const { spec } = context;
    const seen = (await listContainers(podman)).get(spec.node);
    if (await isToBeMade(context)) return restore(context, seen);
    await restorer.stop(spec.node);
    const decision = decide(spec, await gather(context, seen));
    await handle(context, context.run.isProvisioning ? continued(decision) : decision);
  }

  /** Its server belongs to the clone until the clone ends. A clone that is not desired any more is ended. */
  async function isCloning(context: HandlerContext): Promise<boolean> {
    const { spec, paths } = context;
    const work = background.runningFor(spec.node);
    if (work?.clone === undefined) return false;
    if (!isStillDue(work.clone, spec, { used: await usedIds(paths), ordinal: paths.ordinal })) {
      context.log.info({ clone: work.clone }, "the clone is not desired any more");
      await background.end(spec.node);
      return false;
    }
    background.keep(spec.node);
    await serveWhileCloning(context, work.waitsFor);
    return true;
  }

  /** Every query would wait in vain: until the server answers or has ended, only the firewall can be changed. */
  async function isSilent(context: HandlerContext): Promise<boolean> {
    const { spec, network } = context;
    const seen = liveness.of(spec.node);
    if (seen === "responsive" || spec.tombstone !== undefined || spec.power === "off") return false;
    if (!(await isInhabited(network))) {
      liveness.forget(spec.node);
      return false;
    }
    await serveWhileSilent(context, seen !== "silent");
    return true;
  }

  /** Reports the progress of the restore; the node keeps serving with the data that it has. */
  async function restore(context: HandlerContext, seen: SeenContainer | undefined): Promise<void> {
    const { run, spec, log, superseded, wakeLater } = context;
    await restorer.setDesired(spec);
    const before = await specMeanwhile(context);
    run.serving = before;
    reportMaking(spec);
    if (before === undefined) return;
    const { attempt } = run.attempts;
    try {
      await serveMeanwhile(nodeContext({ ...deps, background, log }, before, superseded), seen);
      recordOutcome(context, "resting");
    } catch (error) {
      if (isWaiting(error)) return wakeLater(quietMs);
      log.warn({ err: error, attempt }, "the previous timeline could not be served");
      wakeLater(recordOutcome(context, "failed"));
    }
  }

  function reportMaking(spec: NodeSpec): void {
    const making = restorer.stateOf(spec.node);
    // The restore may still be one of an earlier spec: what the node serves by is the same.
    const serving = runs.get(spec.node)?.serving;
    const run = { ...runFor(spec, undefined), serving };
    if (making !== undefined) report({ reporter: deps.reporter, run }, { kind: "making", making });
  }

  /** One listing for all nodes; only those that differ from their spec are converged. */
  async function verify(): Promise<void> {
    const containers = await listContainers(podman);
    for (const spec of store.all()) {
      if (queue.isBusy(spec.node) || liveness.of(spec.node) !== "responsive") continue;
      const context = nodeContext({ ...deps, background }, spec, () => false);
      const isDue =
        (await isToBeMade(context)) || isWork(decide(spec, await gather(context, containers.get(spec.node))));
      if (isDue) queue.wake(spec.node);
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
      for (const spec of store.all()) queue.wake(spec.node);
      verifying = keepVerifying();
      void liveness.start();
    },
    wake: (node: string): void => queue.wake(node),
    takenSpec: (node: string): NodeSpec | undefined => runs.get(node)?.spec,
    /** The node's container ended. A run in progress notices that itself; a delayed one is delayed because of it. */
    ended(node: string): void {
      if (!queue.isBusy(node)) queue.wake(node);
    },
    wakeTombstones(): void {
      for (const spec of store.all()) if (spec.tombstone) queue.wake(spec.node);
    },
    idle: () => queue.idle(),
    async close(): Promise<void> {
      stop.abort();
      await Promise.all([queue.close(), restorer.close(), background.close(), liveness.close(), verifying]);
    },
  };
}
export type Reconciler = ReturnType<typeof createReconciler>;

/** The steps after the wait for the server come in their order, whatever the server lacks by itself. */
const continued = (decision: Decision): Decision =>
  ["provision", "power-off", "rest", "bury"].includes(decision.kind)
    ? decision
    : { kind: "provision", because: ["the server was not ready"] };

const isWork = ({ kind }: Decision): boolean => kind !== "nothing" && kind !== "rest";

/** Keeps the previous timeline's server converged while the data of the next one are being restored. */
async function serveMeanwhile(context: StepContext, seen: SeenContainer | undefined): Promise<void> {
  const { kind } = decide(context.spec, await gather(context, seen));
  const tables: Partial<Record<Decision["kind"], StepTable<StepContext>>> = {
    provision: provisionSteps,
    group: groupSteps,
    firewall: firewallSteps,
    "power-off": powerOffSteps,
  };
  const table = tables[kind];
  if (table === undefined) return;
  context.log.info({ kind, ordinal: context.paths.ordinal }, "serving the previous timeline meanwhile");
  await runSteps(table, context, () => {});
}
