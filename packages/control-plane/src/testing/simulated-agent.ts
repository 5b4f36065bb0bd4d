import {
  isNewer,
  type JobReport,
  type NodeReport,
  type NodeSpec,
  type PrimaryChange,
  type WantedReply,
} from "@moorage/contract/agent";
import type { Gateway, Identity } from "./gateway.ts";
import { simulateMember } from "./simulated-group.ts";
import { simulateJob } from "./simulated-job.ts";

/** An agent that speaks the real protocol and does all it is told at once, without a container, unless it is to fail. */
export function simulateAgent(
  gateway: Gateway,
  host: Identity & { id: number },
  otherwise: (spec: NodeSpec) => Partial<NodeReport> = () => ({}),
) {
  const specs = new Map<string, NodeSpec>();
  const at = { epoch: 0, revision: 0 };
  const ended = new Map<string, JobReport>();

  /** Named work is begun if its id is new, and reported otherwise. */
  const jobsOf = async (spec: NodeSpec): Promise<JobReport[]> => {
    for (const job of spec.jobs ?? [])
      if (!ended.has(job.id)) ended.set(job.id, await simulateJob(gateway, host, spec, job));
    return (spec.jobs ?? []).map(({ id }) => ended.get(id) as JobReport);
  };
  const reportOf = async (spec: NodeSpec): Promise<NodeReport> => {
    const said = otherwise(spec);
    const jobs = said.jobs ?? (spec.tombstone === undefined ? await jobsOf(spec) : []);
    // A group that is said otherwise is not simulated here: its member would join it.
    return { ...reportWithoutJobs(spec), ...(said.group === undefined ? simulateMember(spec) : {}), jobs, ...said };
  };
  const reportWithoutJobs = (spec: NodeSpec): NodeReport => ({
    node: spec.node,
    epoch: spec.epoch,
    generation: spec.generation,
    state: spec.tombstone !== undefined ? "gone" : spec.power === "off" ? "stopped" : "running",
    percent: 100,
    ...(spec.data === undefined ? {} : { timeline: spec.data.timeline }),
  });
  const say = (change: { nodes: NodeReport[]; digest?: number }) =>
    gateway.post(host, "/v1/observed", { complete: true, unknown: [], ...change });

  return {
    specs,
    at,
    /** Says that a cluster has another primary. */
    tell: (...changes: PrimaryChange[]) =>
      gateway.post(host, "/v1/observed", { complete: false, nodes: [], changes, unknown: [] }),
    /** Asks what is wanted, does it, and says so. */
    async poll(): Promise<WantedReply> {
      // When nothing is new, the long poll need not be waited out.
      const impatience = setInterval(() => gateway.wakeups.wake(host.id), 50);
      const ask = { ...at, agent: "simulated", boot: "b", now: new Date().toISOString(), trash_mb: 0 };
      const { body: reply } = await gateway.post<WantedReply>(host, "/v1/wanted", ask).finally(() => {
        clearInterval(impatience);
      });
      if (reply.epoch < at.epoch || (reply.epoch === at.epoch && reply.revision < at.revision)) return reply;
      for (const spec of (reply.nodes ?? []) as NodeSpec[]) {
        const known = specs.get(spec.node);
        if (known === undefined || isNewer(spec, known)) specs.set(spec.node, spec);
      }
      if (reply.nodes !== undefined) Object.assign(at, { epoch: reply.epoch, revision: reply.revision });
      const nodes: NodeReport[] = [];
      for (const spec of specs.values()) nodes.push({ ...(await reportOf(spec)), ...(reply.digest ? { spec } : {}) });
      await say({ nodes, ...(reply.digest ? { digest: reply.epoch } : {}) });
      return reply;
    },
  };
}
export type SimulatedAgent = ReturnType<typeof simulateAgent>;
