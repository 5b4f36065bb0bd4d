import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { activeOnAgent, HOME } from "./active-database.ts";
import { startGateway } from "./gateway.ts";
import { IN_BACKGROUND_MS, simulateAgent } from "./simulated-agent.ts";
import { startWorker, type Temporal } from "./temporal.ts";
import type { World } from "./world.ts";

/** These tests need no DNS server. */
const names = { publishDnsRecords: async () => {}, withdrawDnsRecords: async () => {} };

/**
 * One active database with HOME in its allow list, on a host whose agent polls and applies its desired state, or
 * reports what `otherwise` returns.
 */
export async function databaseOnAgent(
  world: World,
  temporal: Temporal,
  otherwise?: (spec: NodeSpec) => Partial<NodeReport>,
) {
  const parts = new AsyncDisposableStack();
  const gateway = parts.use(await startGateway(world));
  const agent = simulateAgent(gateway, await gateway.enrolledHost(), otherwise);
  const alice = await world.customer();
  await agent.poll();
  const database = await activeOnAgent(world, alice, agent, { allow_list: HOME });
  let listening = true;
  const polling = (async () => {
    while (listening) await agent.poll(IN_BACKGROUND_MS);
  })();
  const silence = async (): Promise<void> => {
    listening = false;
    await polling;
  };
  parts.defer(silence);
  return {
    alice,
    database,
    url: database.url,
    silence,
    /** From now on workflows run. */
    work: async (): Promise<void> => void parts.use(await startWorker(world, temporal, names)),
    specOf: (databaseId: number) =>
      [...agent.specs.values()].find((spec) => spec.database.id === databaseId) as NodeSpec,
    specOnHost: () => [...agent.specs.values()][0] as NodeSpec,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/**
 * Sets the deadline of open operations to this time from now. Call it before workflows run: a started one has its
 * deadline as input.
 */
export const shortenDeadline = async (world: World, milliseconds: number): Promise<void> => {
  const deadline_at = new Date(Date.now() + milliseconds);
  await world.db.updateTable("operations").set({ deadline_at }).where("settled_at", "is", null).execute();
};

export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
}
export const untilSettled = (world: World): Promise<void> =>
  until(async () => (await world.lastOperation()).settled_at !== null);
