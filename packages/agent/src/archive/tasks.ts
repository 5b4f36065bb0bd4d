import type { NodeSpec, TaskReport } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import type { Logger } from "pino";
import { GatewayAway } from "../base/try-again.ts";
import type { Reporter } from "../gateway/reporter.ts";
import type { EndedTask } from "../specs/node-state.ts";
import { type ArchivedNode, readArchiveState, updateArchiveState } from "./archived-node.ts";
import { NoRoomForCopy } from "./scratch.ts";

export type TaskDeps = {
  reporter: Pick<Reporter, "setTasks">;
  ship: (node: ArchivedNode) => Promise<void>;
  copy: (node: ArchivedNode, order: { id: string; progress: (percent: number) => void }) => Promise<void>;
  clock: () => Date;
  log: Logger;
};

type Task = NonNullable<NodeSpec["tasks"]>[number];
type Try = { count: number; percent: number; notBefore: number; isRunning: boolean; message?: string };

export const endTaskStep = "agent.archive.end-task";

const copiesAtOnce = 1;
/** With the delays between them about two minutes; the requesting operation has a deadline of its own. */
const triesInAll = 8;
const delayMs = (count: number): number => Math.min(500 * 2 ** count, 30_000);

/**
 * Work that specs request by an id. The outcome is on disk before it is reported, so a task is done once, however often
 * the agent restarts; a task that a crash interrupted starts again.
 */
export function createTasks({ reporter, ship, copy, clock, log }: TaskDeps) {
  const tries = new Map<string, Try>();
  const ended = new Map<string, EndedTask>();
  const lastSpecs = new Map<string, NodeSpec>();
  let copying = 0;

  const report = ({ spec }: ArchivedNode): void =>
    reporter.setTasks(
      spec.node,
      (spec.tasks ?? []).map(({ id }) => reportOf(id, ended.get(id), tries.get(id))),
    );

  /** Also removes the outcomes of tasks that the spec no longer requests. */
  async function end(node: ArchivedNode, { id }: Task, how: EndedTask): Promise<void> {
    const requested = new Set((node.spec.tasks ?? []).map((task) => task.id));
    const stillRequested = (tasks: Record<string, EndedTask>) =>
      Object.entries(tasks).filter(([known]) => requested.has(known));
    await step(endTaskStep, () =>
      updateArchiveState(node, clock(), ({ tasks }) => ({
        tasks: { ...Object.fromEntries(stillRequested(tasks)), [id]: how },
      })),
    );
    ended.set(id, how);
    tries.delete(id);
  }

  async function attempt(node: ArchivedNode, task: Task, current: Try): Promise<void> {
    const known = (await readArchiveState(node, clock())).tasks[task.id];
    if (known !== undefined) return void ended.set(task.id, known);
    const progress = (percent: number): void => {
      current.percent = percent;
      report(node);
    };
    try {
      if (task.kind === "copy") await copy(node, { id: task.id, progress });
      else await ship(node);
    } catch (error) {
      current.message = (error instanceof Error ? error.message : String(error)).slice(0, 1000);
      current.count += 1;
      current.notBefore = clock().getTime() + delayMs(current.count);
      log.warn({ node: node.spec.node, task, tries: current.count, error: current.message }, "task failed");
      // While the gateway is unreachable, a failure could not be reported either: keep trying.
      const isHopeless = error instanceof NoRoomForCopy || current.count >= triesInAll;
      if (!isHopeless || error instanceof GatewayAway) return;
      return end(node, task, { state: "failed", message: current.message });
    }
    await end(node, task, { state: "done" });
  }

  async function begin(node: ArchivedNode, task: Task, current: Try): Promise<void> {
    tries.set(task.id, current);
    current.isRunning = true;
    if (task.kind === "copy") copying += 1;
    report(node);
    try {
      await attempt(node, task, current);
    } catch (error) {
      log.warn({ node: node.spec.node, task, error: String(error) }, "the end of a task could not be recorded");
    } finally {
      current.isRunning = false;
      if (task.kind === "copy") copying -= 1;
      report(node);
    }
  }

  return {
    /** Level-triggered, called every tick: starts requested tasks that are neither running nor finished. */
    begin(node: ArchivedNode): Promise<void>[] {
      if (lastSpecs.get(node.spec.node) !== node.spec) report(node);
      lastSpecs.set(node.spec.node, node.spec);
      const now = clock().getTime();
      return (node.spec.tasks ?? []).flatMap((task) => {
        const current = tries.get(task.id) ?? { count: 0, percent: 0, notBefore: 0, isRunning: false };
        if (ended.has(task.id) || current.isRunning || now < current.notBefore) return [];
        return task.kind === "copy" && copying >= copiesAtOnce ? [] : [begin(node, task, current)];
      });
    },
  };
}

function reportOf(id: string, ended: EndedTask | undefined, current: Try | undefined): TaskReport {
  const message = ended?.message ?? current?.message;
  return {
    id,
    state: ended?.state ?? "working",
    percent: ended?.state === "done" ? 100 : (current?.percent ?? 0),
    ...(message !== undefined && { message }),
  };
}
