import type { NodeSpec } from "@moorage/contract/agent";
import type { SimulatedAgent } from "./simulated-agent.ts";
import { simulateMember } from "./simulated-group.ts";
import type { World } from "./world.ts";

export const INSTANCES = "/v4/databases/mysql/instances";

type Customer = Awaited<ReturnType<World["customer"]>>;
type Host = Awaited<ReturnType<World["host"]>>;

/** The desired spec of the newest node. */
export const desiredSpec = async (world: World): Promise<NodeSpec> =>
  (await world.nodes()).at(-1)?.desired_spec as NodeSpec;

/** A database that was created, placed, reported running by its host, and settled. */
export const activeDatabase = (world: World, customer: Customer, host: Host, change: object = {}) =>
  madeActive(world, customer, change, async () => host.report(await desiredSpec(world), "running"));

/** The same, on the host of a polling agent. */
export const activeOnAgent = (world: World, customer: Customer, agent: SimulatedAgent, change: object = {}) =>
  madeActive(world, customer, change, () => agent.poll());

/** The smallest plan for a cluster. */
export const CLUSTER_PLAN = "m2-medium";
const ofThree = { type: CLUSTER_PLAN, cluster_size: 3 };

/** For a cluster: the hosts report what simulated members would. */
export async function activeCluster(world: World, customer: Customer, hosts: readonly Host[], change: object = {}) {
  await offerClusterPlan(world);
  return madeActive(world, customer, { ...ofThree, ...change }, () => reportMembers(world, hosts));
}

/** The same, on the hosts of polling agents. */
export async function activeClusterOnAgents(
  world: World,
  customer: Customer,
  agents: readonly SimulatedAgent[],
  change: object = {},
) {
  await offerClusterPlan(world);
  return madeActive(world, customer, { ...ofThree, ...change }, () => pollAll(agents));
}

export const offerClusterPlan = (world: World) =>
  world.operator.post("/admin/plans", {
    id: CLUSTER_PLAN,
    label: "Medium",
    class: "standard",
    memory_mb: 2048,
    disk_mb: 20_480,
    vcpus: 1,
  });

/**
 * Twice: an agent that polled before the group was bootstrapped had no group to join. Replicas need the second poll.
 */
export async function pollAll(agents: readonly SimulatedAgent[]): Promise<void> {
  for (let times = 0; times < 2; times++) for (const agent of agents) await agent.poll();
  const specs = agents.flatMap((agent) => [...agent.specs.values()]);
  if (specs.some(isAsynchronous)) for (const agent of agents) await agent.poll();
}

const isAsynchronous = ({ cluster }: NodeSpec): boolean => cluster?.replication === "asynch";

/** Every host reports its member as its spec desires, the first one first. Replicas need to see the primary first. */
export async function reportMembers(world: World, hosts: readonly Host[]): Promise<void> {
  const found = (await world.nodes()).filter(
    ({ desired_spec, released_at }) => desired_spec !== null && released_at === null,
  );
  const nodes = found.sort((a, b) => a.ordinal - b.ordinal);
  const rounds = nodes.some(({ desired_spec }) => isAsynchronous(desired_spec as NodeSpec))
    ? [nodes, nodes, nodes]
    : [nodes];
  for (const node of rounds.flat()) {
    const host = hosts.find(({ id }) => id === node.host_id);
    // Not one of these: its member is not up for the others either.
    if (host === undefined) continue;
    const spec = node.desired_spec as NodeSpec;
    const state = spec.tombstone !== undefined ? "gone" : spec.power === "off" ? "stopped" : "running";
    const { state: instead = state, ...reported } = simulateMember(spec);
    await host.report(spec, instead, { ...(spec.data && { timeline: spec.data.timeline }), ...reported });
  }
}

async function madeActive(world: World, customer: Customer, change: object, observe: () => Promise<unknown>) {
  const { body } = await customer.create(change);
  const { id } = await world.lastOperation();
  await world.activities.setDesiredNodes(id);
  await observe();
  await world.activities.endChange(id, { done: true });
  return { ...body, url: `${INSTANCES}/${body.id}` };
}

/** The allow lists before and after the updates of the tests. */
export const HOME = ["203.0.113.7"];
export const OFFICE = ["198.51.100.0/24", "2001:db8::/32"];

/** One active database on one host, with HOME in its allow list. */
export async function databaseFixture(world: World) {
  const [alice, host] = [await world.customer(), await world.host()];
  return { alice, host, database: await activeDatabase(world, alice, host, { allow_list: HOME }) };
}

export const updatesOf = async (world: World) =>
  (await world.events()).filter(({ action }) => action === "database_update");

export const aMinuteLater = (world: World): void => {
  world.time.now = new Date(world.time.now.getTime() + 60_000);
};
