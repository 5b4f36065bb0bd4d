import { randomUUID } from "node:crypto";
import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { leaveGroup, simulateMember } from "./simulated-group.ts";
import type { World } from "./world.ts";

type Host = Awaited<ReturnType<World["host"]>>;
/** A restart for another plan or image, and what the member was in its group just before. */
type Restart = { ordinal: number; plan: string; image: string; role: string; online: number };

const AWAY = { state: "away", online: 0, shared: false } as const;
const versionOf = ({ database, engine }: NodeSpec): string => `${database.plan} ${engine.image}`;

/**
 * Simulated members that restart for another size or image, as real ones do: they leave their group and join it again.
 * `fails` says why a member cannot run as it is told; it serves nobody until it is told something else.
 */
export function restartingMembers(fails: (spec: NodeSpec) => string | undefined = () => undefined) {
  const [running, broken] = [new Map<string, string>(), new Set<string>()];
  const restarts: Restart[] = [];

  const restart = (spec: NodeSpec): void => {
    const group = broken.has(spec.node) ? undefined : simulateMember(spec).group;
    const { role = "none", online = 0 } = group ?? {};
    restarts.push({ ordinal: spec.ordinal, plan: spec.database.plan, image: spec.engine.image, role, online });
    leaveGroup(groupOf(spec), spec.node);
  };
  const reportOf = (spec: NodeSpec): Partial<NodeReport> => {
    const before = running.get(spec.node);
    if (before !== undefined && before !== versionOf(spec)) restart(spec);
    running.set(spec.node, versionOf(spec));
    const message = fails(spec);
    if (message === undefined) {
      broken.delete(spec.node);
      return simulateMember(spec);
    }
    broken.add(spec.node);
    leaveGroup(groupOf(spec), spec.node);
    return { state: "failed", message, group: AWAY };
  };

  return {
    reportOf,
    /** Which restarted, one after the other. */
    restarted: (): number[] => restarts.map(({ ordinal }) => ordinal),
    /** Those that led, or left fewer than two behind: clients noticed them. */
    careless: (): Restart[] =>
      restarts.filter(({ role, online }) => role === "primary" || (role === "secondary" && online < 3)),
    /** Every host says how its member is, twice: the first may have spoken before the last came back. */
    async report(world: World, hosts: readonly Host[]): Promise<void> {
      const nodes = (await world.nodes()).sort((a, b) => a.ordinal - b.ordinal);
      for (const { desired_spec, host_id } of [...nodes, ...nodes]) {
        const { state = "running", ...change } = reportOf(desired_spec as NodeSpec);
        await hosts.find(({ id }) => id === host_id)?.report(desired_spec as NodeSpec, state, change);
      }
    },
    /** Another leads, as after a switchover. */
    makePrimary: (spec: NodeSpec): void => {
      if (spec.cluster !== undefined)
        simulateMember({ ...spec, cluster: { ...spec.cluster, make_primary: randomUUID() } });
    },
  };
}

const groupOf = ({ node, cluster }: NodeSpec): string => {
  if (cluster === undefined) throw new Error(`Node ${node} is no member.`);
  return cluster.group;
};
