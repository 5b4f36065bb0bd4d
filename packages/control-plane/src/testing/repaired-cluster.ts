import type { NodeReport, NodeSpec, PrimaryChange } from "@moorage/contract/agent";
import { workflowIdOf } from "#operations/workflow-id.ts";
import { activeClusterOnAgents } from "./active-database.ts";
import { pollingAgents } from "./cluster-on-agents.ts";
import { until } from "./database-on-agent.ts";
import { leaveGroup, simulateMember } from "./simulated-group.ts";
import { startWorker, type Temporal } from "./temporal.ts";
import type { World } from "./world.ts";

const AWAY = { state: "away", online: 0, shared: false } as const;

type Settings = {
  hosts: number;
  replication?: "asynch";
  /** Replaces the simulated report of a member, or a part of it. */
  instead?: (spec: NodeSpec, simulated: Partial<NodeReport>) => Partial<NodeReport>;
};

/** An active cluster on polling agents, with a worker: lost nodes are really repaired. */
export async function repairedCluster(
  world: World,
  temporal: Temporal,
  { hosts: count, replication, instead }: Settings,
) {
  const parts = new AsyncDisposableStack();
  const named: number[] = [];
  const names = {
    publishDnsRecords: async (operation: number) => void named.push(operation),
    withdrawDnsRecords: async () => {},
  };
  const lost = new Set<string>();
  const otherwise = (spec: NodeSpec): Partial<NodeReport> => {
    // A poll in progress while its host is lost must not rejoin the group.
    const simulated = lost.has(spec.node) ? { group: AWAY } : simulateMember(spec);
    return instead === undefined ? simulated : instead(spec, simulated);
  };
  const hosts = parts.use(await pollingAgents(world, count, otherwise));
  const alice = await world.customer();
  const database = await activeClusterOnAgents(
    world,
    alice,
    hosts.agents,
    replication === undefined ? {} : { replication_type: replication },
  );
  await hosts.poll();
  const worker = parts.use(await startWorker(world, temporal, names));

  const nodes = async () =>
    (await world.nodes()).filter(({ tombstoned }) => !tombstoned).sort((a, b) => a.ordinal - b.ordinal);
  const nodeAt = async (ordinal: number) => (await nodes()).find((node) => node.ordinal === ordinal) as NodeRow;
  type NodeRow = Awaited<ReturnType<typeof nodes>>[number];
  const agentOf = (node: string): number => hosts.agents.findIndex(({ specs }) => specs.has(node));
  const report = async (node: string) =>
    (await world.db.selectFrom("members").select("report").where("node_id", "=", node).executeTakeFirst())?.report;
  const groupOf = (node: NodeRow): string => node.desired_spec?.cluster?.group as string;

  return {
    alice,
    database,
    nodes,
    nodeAt,
    named,
    hosts,
    report,
    /** Its host is switched off: the other members continue without it. */
    async lose(ordinal: number): Promise<{ node: NodeRow; comeBack: () => Promise<void> }> {
      const node = await nodeAt(ordinal);
      const agent = agentOf(node.id);
      const silenced = hosts.silence(agent);
      lost.add(node.id);
      leaveGroup(groupOf(node), node.id);
      await silenced;
      const comeBack = async (): Promise<void> => {
        lost.clear();
        await hosts.agents[agent]?.poll();
      };
      return { node, comeBack };
    },
    /** Its host reports nothing until the returned function is called. */
    async mute(ordinal: number): Promise<() => Promise<unknown>> {
      const agent = agentOf((await nodeAt(ordinal)).id);
      await hosts.silence(agent);
      return async () => {
        for (let times = 0; times < 3; times++) await hosts.agents[agent]?.poll();
      };
    },
    /** The host of the new primary reports the change. */
    reportChange: (change: PrimaryChange) => hosts.agents[agentOf(change.to)]?.reportChange(change),
    /** The members leave the group at the same moment: a remaining one would let them rejoin. */
    async leave(...ordinals: number[]): Promise<void> {
      const leaving = (await nodes()).filter(({ ordinal }) => ordinals.includes(ordinal));
      for (const node of leaving) leaveGroup(groupOf(node), node.id);
    },
    /** Until the remaining hosts report this many online members. */
    untilCounted: (online: number, ordinals: readonly number[]) =>
      until(async () => {
        for (const ordinal of ordinals) if ((await report((await nodeAt(ordinal)).id))?.online !== online) return false;
        return true;
      }),
    /** Time passes, and the cluster is checked once those hosts and all others that poll were seen again. */
    async checkAfter(seconds: number, ordinals: readonly number[]): Promise<void> {
      world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
      const ids = await Promise.all(ordinals.map(async (ordinal) => (await nodeAt(ordinal)).host_id));
      await until(async () => {
        const leases = await world.db
          .selectFrom("host_leases")
          .select("host_id")
          .where("seen_at", ">=", world.time.now)
          .execute();
        const seen = new Set(leases.map(({ host_id }) => host_id));
        return seen.size >= hosts.polling() && ids.every((id) => seen.has(id));
      });
      await world.run("clusterHealth");
    },
    /** Waits for the operation and its workflow. */
    async untilEnded(kind: string): Promise<void> {
      await until(async () => {
        const operation = await world.lastOperation();
        return operation.kind === kind && operation.settled_at !== null;
      });
      await worker.client.workflow.getHandle(workflowIdOf(await world.lastOperation())).result();
    },
    status: async () => (await alice.get<{ status: string }>(database.url)).body.status,
    /** The latest desired specs of the current nodes. */
    specs: async (): Promise<NodeSpec[]> => (await nodes()).map(({ desired_spec }) => desired_spec as NodeSpec),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}
