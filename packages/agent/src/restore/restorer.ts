import { isNewer, type NodeReport, type NodeSpec } from "@moorage/contract/agent";
import { GatewayAway, stepDelayMs } from "../base/try-again.ts";
import { createNodeQueue } from "../base/node-queue.ts";
import { nodeContext, type NodeDeps } from "../node/node-context.ts";
import { runSteps, StepFailed } from "../base/run-steps.ts";
import { exists } from "../node/volume.ts";
import type { RestoreDeps } from "./make-data.ts";
import { BrokenArchive, recipeSource, StoreAway } from "./fetch-object.ts";
import { restoreSteps } from "./restore-steps.ts";
import { clearWorkplace, endServerWith, workplace } from "./workplace.ts";

export type RestorerDeps = NodeDeps &
  RestoreDeps & {
    /** The progress has changed. */
    changed: (spec: NodeSpec) => void;
    /** The volume is complete. */
    ended: (node: string) => void;
  };

type Making = {
  spec: NodeSpec;
  attempt: number;
  state: Pick<NodeReport, "state" | "step" | "percent" | "message">;
  over: AbortController;
};

const restoresAtOnce = 2;
const tries = 3;
/** With the delays between them about eight minutes: enough for a restart of the object store or the gateway. */
const triesWhileAway = 20;

/** Makes the volumes of restored timelines while their nodes run on the previous ones. */
export function createRestorer(deps: RestorerDeps) {
  const makings = new Map<string, Making>();
  const queue = createNodeQueue(restoresAtOnce, make);

  async function make(node: string): Promise<void> {
    const making = makings.get(node);
    if (making === undefined || making.state.state === "failed") return;
    const { spec, over } = making;
    const { signal } = over;
    const log = deps.log.child({ node, generation: spec.generation });
    const base = nodeContext({ ...deps, log }, spec, () => signal.aborted);
    const work = workplace(deps.host, node, "restore");
    const source = recipeSource(() => deps.recipeFor(node, "data"));
    const reportStep = (step: string, percent: number): void => {
      const { message } = making.state;
      making.state = { state: "working", step: `restore ${step}`, percent, ...(message && { message }) };
      deps.changed(making.spec);
    };
    const progress = (done: number): void => {
      const { step, percent } = making.state;
      const name = step?.replace("restore ", "");
      const here = restoreSteps.steps.find((each) => each.name === name)?.percent ?? percent;
      const before = restoreSteps.steps.findLast((each) => each.percent < here)?.percent ?? 0;
      reportStep(name ?? "", Math.floor(before + (here - before) * done));
    };
    let failure: unknown;
    try {
      // The last step may have failed after its work was done.
      if (!(await exists(base.paths.image)))
        await runSteps(restoreSteps, { ...base, work, source, signal, progress }, reportStep);
    } catch (error) {
      failure = error;
    }
    await clearWorkplace(deps.podman, work).catch((error: unknown) =>
      log.warn({ error: String(error) }, "files of an unfinished restore could not be removed"),
    );
    if (signal.aborted) return;
    if (failure !== undefined) return failed(making, failure, log);
    makings.delete(node);
    deps.ended(node);
  }

  function failed(making: Making, error: unknown, log: NodeDeps["log"]): void {
    const cause = error instanceof StepFailed ? error.cause : error;
    const away = cause instanceof GatewayAway || cause instanceof StoreAway;
    const attempt = making.attempt++;
    const message = (error instanceof Error ? error.message : String(error)).slice(0, 1000);
    const hopeless = cause instanceof BrokenArchive || attempt + 1 >= (away ? triesWhileAway : tries);
    log.warn({ err: error, attempt, hopeless }, "the data could not be restored");
    making.state = { ...making.state, state: hopeless ? "failed" : "working", message };
    deps.changed(making.spec);
    if (!hopeless) queue.wakeLater(making.spec.node, stepDelayMs(attempt + 1));
  }

  /** Aborts the running restore, if any, and waits until nothing of it is left. */
  async function stop(node: string): Promise<void> {
    const making = makings.get(node);
    if (making === undefined) return;
    making.over.abort();
    makings.delete(node);
    await queue.settled(node);
  }

  return {
    /** Level-triggered: called repeatedly while the desired volume does not exist. */
    async setDesired(spec: NodeSpec): Promise<void> {
      const known = makings.get(spec.node);
      const same = known?.spec.data?.timeline === spec.data?.timeline;
      if (known !== undefined && same && !(known.state.state === "failed" && isNewer(spec, known.spec))) {
        known.spec = spec;
        return;
      }
      await stop(spec.node);
      const over = new AbortController();
      endServerWith(over.signal, deps.podman, workplace(deps.host, spec.node, "restore"));
      makings.set(spec.node, { spec, attempt: 0, state: { state: "working", step: "restore", percent: 0 }, over });
      queue.wake(spec.node);
    },
    stateOf: (node: string): Making["state"] | undefined => makings.get(node)?.state,
    stop,
    async close(): Promise<void> {
      for (const { over } of makings.values()) over.abort();
      await queue.close();
    },
  };
}
