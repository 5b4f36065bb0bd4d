import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { activeClusterOnAgents, HOME } from "./active-database.ts";
import { startGateway } from "./gateway.ts";
import { IN_BACKGROUND_MS, type SimulatedAgent, simulateAgent } from "./simulated-agent.ts";
import { startWorker, type Temporal } from "./temporal.ts";
import type { World } from "./world.ts";

/** This many hosts whose agents poll and apply their desired state, or report what `otherwise` returns. */
export async function pollingAgents(
  world: World,
  count: number,
  otherwise?: (spec: NodeSpec) => Partial<NodeReport>,
  options?: Parameters<World["registerHost"]>[0],
) {
  const parts = new AsyncDisposableStack();
  const gateway = parts.use(await startGateway(world));
  const agents: SimulatedAgent[] = [];
  const silenced = new Set<number>();
  const loops = new Map<number, Promise<void>>();
  for (let n = 0; n < count; n++) {
    agents.push(simulateAgent(gateway, await gateway.enrolledHost(options), otherwise));
    await agents[n]?.poll();
  }
  let listening = true;
  const pollUntilSilenced = async (agent: SimulatedAgent, n: number): Promise<void> => {
    while (listening && !silenced.has(n)) await agent.poll(IN_BACKGROUND_MS);
  };
  const poll = async (): Promise<void> => {
    for (const [n, agent] of agents.entries()) loops.set(n, pollUntilSilenced(agent, n));
    parts.defer(async () => {
      listening = false;
      await Promise.all(loops.values());
    });
  };
  return {
    agents,
    /** From now on all of them poll, each until it is silenced. */
    poll,
    /** From now on workflows run. */
    work: async (temporal: Temporal, names: object): Promise<void> =>
      void parts.use(await startWorker(world, temporal, names)),
    /** Ends with its last poll: a later one would count as seen. */
    silence: async (n: number): Promise<void> => {
      silenced.add(n);
      await loops.get(n);
    },
    /** How many of them poll. */
    polling: (): number => [...loops.keys()].filter((n) => !silenced.has(n)).length,
    /** The specs that the hosts of a database got last, by ordinal; for a removed node its tombstone. */
    specsOf: (databaseId: number): NodeSpec[] =>
      agents
        .flatMap(({ specs }) => [...specs.values()])
        .filter(({ database }) => database.id === databaseId)
        .sort((a, b) => a.ordinal - b.ordinal),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** One active cluster with HOME in its allow list, on three such hosts. */
export async function clusterOnAgents(world: World, otherwise?: (spec: NodeSpec) => Partial<NodeReport>) {
  const hosts = await pollingAgents(world, 3, otherwise);
  const alice = await world.customer();
  const database = await activeClusterOnAgents(world, alice, hosts.agents, { allow_list: HOME });
  await hosts.poll();
  return { ...hosts, alice, database, url: database.url, specs: () => hosts.specsOf(database.id) };
}
