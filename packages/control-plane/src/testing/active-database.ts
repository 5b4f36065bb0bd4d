import type { NodeSpec } from "@moorage/contract/agent";
import type { World } from "./world.ts";

export const INSTANCES = "/v4/databases/mysql/instances";

type Customer = Awaited<ReturnType<World["customer"]>>;
type Host = Awaited<ReturnType<World["host"]>>;

/** What the host of the newest node is told. */
export const wantedSpec = async (world: World): Promise<NodeSpec> => (await world.nodes()).at(-1)?.wanted as NodeSpec;

/** Created, placed, observed running, settled. */
export async function activeDatabase(world: World, customer: Customer, host: Host, change: object = {}) {
  const { body } = await customer.create(change);
  const { id } = await world.lastOperation();
  await world.activities.wantNodes(id);
  await host.report(await wantedSpec(world), "running");
  await world.activities.settleProvision(id, { done: true });
  return { ...body, url: `${INSTANCES}/${body.id}` };
}
