import type { NodeSpec } from "@moorage/contract/agent";
import type { SimulatedAgent } from "./simulated-agent.ts";
import type { World } from "./world.ts";

export const INSTANCES = "/v4/databases/mysql/instances";

type Customer = Awaited<ReturnType<World["customer"]>>;
type Host = Awaited<ReturnType<World["host"]>>;

/** What the host of the newest node is told. */
export const wantedSpec = async (world: World): Promise<NodeSpec> => (await world.nodes()).at(-1)?.wanted as NodeSpec;

/** Created, placed, observed running because its host says so, settled. */
export const activeDatabase = (world: World, customer: Customer, host: Host, change: object = {}) =>
  madeActive(world, customer, change, async () => host.report(await wantedSpec(world), "running"));

/** The same, on the host of an agent that polls. */
export const activeOnAgent = (world: World, customer: Customer, agent: SimulatedAgent, change: object = {}) =>
  madeActive(world, customer, change, () => agent.poll());

async function madeActive(world: World, customer: Customer, change: object, observe: () => Promise<unknown>) {
  const { body } = await customer.create(change);
  const { id } = await world.lastOperation();
  await world.activities.wantNodes(id);
  await observe();
  await world.activities.settleProvision(id, { done: true });
  return { ...body, url: `${INSTANCES}/${body.id}` };
}

/** What the updates of the tests begin with, and change to. */
export const HOME = ["203.0.113.7"];
export const OFFICE = ["198.51.100.0/24", "2001:db8::/32"];

/** One active database on one host, which lets HOME in. */
export async function staged(world: World) {
  const [alice, host] = [await world.customer(), await world.host()];
  return { alice, host, database: await activeDatabase(world, alice, host, { allow_list: HOME }) };
}

export const updatesOf = async (world: World) =>
  (await world.events()).filter(({ action }) => action === "database_update");

export const aMinuteLater = (world: World): void => {
  world.time.now = new Date(world.time.now.getTime() + 60_000);
};
