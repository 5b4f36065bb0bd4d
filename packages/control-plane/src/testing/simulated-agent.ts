import {
  isNewer,
  type TaskReport,
  type NodeReport,
  type NodeSpec,
  type PrimaryChange,
  type DesiredReply,
  type DesiredRequest,
} from "@moorage/contract/agent";
import type { Gateway, Identity } from "./gateway.ts";
import { simulateMember } from "./simulated-group.ts";
import { simulateTask } from "./simulated-task.ts";

/** For agents that poll all the time: a change of the desired state ends a poll at once. */
export const IN_BACKGROUND_MS = 200;

/**
 * An agent that speaks the real protocol and applies everything at once, without a container, unless it is set to fail.
 */
export function simulateAgent(
  gateway: Gateway,
  host: Identity & { id: number },
  otherwise: (spec: NodeSpec) => Partial<NodeReport> = () => ({}),
) {
  const specs = new Map<string, NodeSpec>();
  const at: Pick<DesiredRequest, "epoch" | "revision" | "told"> = { epoch: 0, revision: 0 };
  const ended = new Map<string, TaskReport>();

  /** A task is started if its id is new, and reported otherwise. */
  const tasksOf = async (spec: NodeSpec): Promise<TaskReport[]> => {
    for (const task of spec.tasks ?? [])
      if (!ended.has(task.id)) ended.set(task.id, await simulateTask(gateway, host, spec, task));
    return (spec.tasks ?? []).map(({ id }) => ended.get(id) as TaskReport);
  };
  const reportOf = async (spec: NodeSpec): Promise<NodeReport> => {
    const overrides = otherwise(spec);
    const tasks = overrides.tasks ?? (spec.tombstone === undefined ? await tasksOf(spec) : []);
    // A group that the test reports otherwise is not simulated here: its member would join it.
    return seenBy(spec, {
      ...reportWithoutTasks(spec),
      ...(overrides.group === undefined ? simulateMember(spec) : {}),
      tasks,
      ...overrides,
    });
  };
  const reportWithoutTasks = (spec: NodeSpec): NodeReport => ({
    node: spec.node,
    epoch: spec.epoch,
    generation: spec.generation,
    seal: spec.seal,
    state: spec.tombstone !== undefined ? "gone" : spec.power === "off" ? "stopped" : "running",
    percent: 100,
    ...(spec.data === undefined ? {} : { timeline: spec.data.timeline }),
  });
  const sendReport = (change: { nodes: NodeReport[]; digest?: number }) =>
    gateway.post(host, "/v1/observed", { complete: true, unknown: [], ...change });

  return {
    hostId: host.id,
    specs,
    at,
    /** Reports that a cluster has another primary. */
    reportChange: (...changes: PrimaryChange[]) =>
      gateway.post(host, "/v1/observed", { complete: false, nodes: [], changes, unknown: [] }),
    /** Polls the desired state, applies it, and reports it. */
    async poll(patienceMs = 50): Promise<DesiredReply> {
      // Without changes, the test need not wait for the long poll's end.
      const impatience = setInterval(() => gateway.wakeups.wake(host.id), patienceMs);
      const request = { ...at, agent: "simulated", boot: "b", now: new Date().toISOString(), trash_mb: 0 };
      const { body: reply } = await gateway.post<DesiredReply>(host, "/v1/desired", request).finally(() => {
        clearInterval(impatience);
      });
      if (reply.epoch < at.epoch || (reply.epoch === at.epoch && reply.revision < at.revision)) return reply;
      if (reply.told !== undefined) at.told = reply.told;
      for (const spec of (reply.nodes ?? []) as NodeSpec[]) {
        const known = specs.get(spec.node);
        if (known === undefined || isNewer(spec, known)) specs.set(spec.node, spec);
      }
      if (reply.nodes !== undefined) Object.assign(at, { epoch: reply.epoch, revision: reply.revision });
      const nodes: NodeReport[] = [];
      for (const spec of specs.values()) nodes.push({ ...(await reportOf(spec)), ...(reply.digest ? { spec } : {}) });
      await sendReport({ nodes, ...(reply.digest ? { digest: reply.epoch } : {}) });
      return reply;
    },
  };
}
export type SimulatedAgent = ReturnType<typeof simulateAgent>;

/** A group is looked at by the same spec, unless the report says otherwise. */
export const seenBy = <Report extends Partial<NodeReport>>(
  { epoch, generation }: NodeSpec,
  { group, ...report }: Report,
): Report =>
  ({ ...report, ...(group && { group: { seen_by: { epoch, generation }, ...group } }) }) as unknown as Report;
