import { randomUUID } from "node:crypto";
import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { leaveGroup, simulateMember } from "./simulated-group.ts";
import type { World } from "./world.ts";

type Host = Awaited<ReturnType<World["host"]>>;
/** A restart for another plan or image, and the member's role in its group just before. */
type Restart = { ordinal: number; plan: string; image: string; role: string; online: number };

const AWAY = { state: "away", online: 0, shared: false } as const;
const versionOf = ({ database, engine }: NodeSpec): string => `${database.plan} ${engine.image}`;

/**
 * Simulated members that restart for another size or image, like real ones: they leave their group and rejoin it.
 * `fails` returns why a member cannot run with its spec; it stays down until it gets another one.
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
    /** The ordinals that restarted, in order. */
    restarted: (): number[] => restarts.map(({ ordinal }) => ordinal),
    /** Restarts of a primary, or with fewer than two members left online: clients noticed them. */
    careless: (): Restart[] =>
      restarts.filter(({ role, online }) => role === "primary" || (role === "secondary" && online < 3)),
    /** Every host reports its member, twice: the first may have reported before the last one rejoined. */
    async report(world: World, hosts: readonly Host[]): Promise<void> {
      const nodes = (await world.nodes()).sort((a, b) => a.ordinal - b.ordinal);
      for (const { desired_spec, host_id } of [...nodes, ...nodes]) {
        const { state = "running", ...change } = reportOf(desired_spec as NodeSpec);
        await hosts.find(({ id }) => id === host_id)?.report(desired_spec as NodeSpec, state, change);
      }
    },
    /** Another member becomes primary, as after a switchover. */
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
