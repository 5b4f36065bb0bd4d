/** The operator replaces the key of the key ring while agents of hosts poll. */
import type { NodeSpec, SecretsReply } from "@moorage/contract/agent";
import type { KeyRotation, KeyStatus, Recovery } from "@moorage/contract/operator";
import { expect, test } from "vitest";
import { createLinkJob } from "#chains/index.ts";
import { createLog } from "#platform/log.ts";
import { activeClusterOnAgents, offerClusterPlan, pollAll } from "#testing/active-database.ts";
import { copyOf } from "#testing/copy-of.ts";
import { type Gateway, type Identity, startGateway } from "#testing/gateway.ts";
import { columnsWith } from "#testing/sealed-rows.ts";
import { type SimulatedAgent, simulateAgent } from "#testing/simulated-agent.ts";
import { newKey, newWorld, type World } from "#testing/world.ts";

type Host = { agent: SimulatedAgent; identity: Identity & { id: number } };

async function hostsOf(gateway: Gateway): Promise<Host[]> {
  const hosts: Host[] = [];
  for (let n = 0; n < 3; n++) {
    const identity = await gateway.enrolledHost();
    hosts.push({ identity, agent: simulateAgent(gateway, identity) });
  }
  for (const { agent } of hosts) await agent.poll();
  return hosts;
}

const keyRing = () => ({ current: "k1", keys: { k1: newKey() } as Record<string, string> });
type Ring = ReturnType<typeof keyRing>;

/** As an operator who restarts every process with the new ring. */
const addKey = (ring: Ring): void => {
  ring.keys["k2"] = newKey();
  ring.current = "k2";
};
const removeKey = (ring: Ring): void => {
  delete ring.keys["k1"];
};

const statusOf = async (world: World): Promise<KeyStatus> => (await world.operator.get<KeyStatus>("/admin/keys")).body;
const needsOf = ({ data }: KeyStatus, id: string): Record<string, number> =>
  Object.fromEntries(data.find((key) => key.id === id)?.needed_by.map(({ by, count }) => [by, count]) ?? []);
const isRemovable = ({ data }: KeyStatus, id: string) => data.find((key) => key.id === id)?.removable;
/** As the command line: on a busy machine one call does not do all of it. */
async function rotate(world: World): Promise<KeyRotation> {
  const sum = { rewrapped: 0, resent: 0 };
  for (;;) {
    const { body } = await world.operator.post<KeyRotation>("/admin/keys/rotation", {});
    sum.rewrapped += body.rewrapped;
    sum.resent += body.resent;
    if (!body.unfinished) return { ...body, ...sum };
  }
}

const passwordAt = async (gateway: Gateway, { identity, agent }: Host): Promise<string | undefined> => {
  const [node] = [...agent.specs.keys()];
  return (await gateway.post<SecretsReply>(identity, "/v1/secrets", { node })).body.group_password;
};

/** The operator's command, while the agents continue to poll. */
async function recover(world: World, agents: readonly SimulatedAgent[]): Promise<Recovery> {
  let isDone = false;
  const command = world.operator.post<Recovery>("/admin/recover", { wait_seconds: 300 }).finally(() => {
    isDone = true;
  });
  await Promise.all(
    agents.map(async (agent) => {
      while (!isDone) await agent.poll();
    }),
  );
  const { status, body } = await command;
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
}

const withoutSeal = ({ seal: _seal, generation: _generation, ...spec }: NodeSpec) => spec;
const specsAt = (hosts: readonly Host[]): NodeSpec[] => hosts.flatMap(({ agent }) => [...agent.specs.values()]);

test("a key can be removed once its values, the chains and the hosts' specs are of the current key, and not before", async () => {
  const ring = keyRing();
  await using world = await newWorld({ keyRing: ring });
  await using gateway = await startGateway(world);
  const hosts = await hostsOf(gateway);
  const agents = hosts.map(({ agent }) => agent);
  const link = createLinkJob({ ...world, log: createLog("test", "silent") });
  await activeClusterOnAgents(world, await world.customer(), agents);
  await pollAll(agents);
  await link();
  const [password, specs] = [await passwordAt(gateway, hosts[0] as Host), specsAt(hosts)];
  expect(isRemovable(await statusOf(world), "k1")).toBe(false);

  addKey(ring);
  const needs = needsOf(await statusOf(world), "k1");
  expect(needs).toMatchObject({ "databases.admin_password": 1, "clusters.authority": 1, "chain_heads.code": 1 });
  expect(Object.keys(needs).filter((by) => by.startsWith("host "))).toHaveLength(3);

  const rotation = await rotate(world);
  expect(rotation).toEqual({ current: "k2", rewrapped: expect.any(Number), resent: 3, damaged: [], unfinished: false });
  // Not reported yet: they are not sent once more.
  expect(await rotate(world)).toMatchObject({ rewrapped: 0, resent: 0 });
  await link();
  expect(Object.keys(needsOf(await statusOf(world), "k1"))).toEqual(hosts.map(() => expect.stringMatching(/^host /)));
  expect(isRemovable(await statusOf(world), "k1")).toBe(false);

  await pollAll(agents);
  const status = await statusOf(world);
  expect([needsOf(status, "k1"), isRemovable(status, "k1"), isRemovable(status, "k2")]).toEqual([{}, true, false]);
  expect(specsAt(hosts).map(withoutSeal)).toEqual(specs.map(withoutSeal));
  expect(await columnsWith(world.db, "v1.k1.")).toEqual([]);

  removeKey(ring);
  const setBack = await copyOf(world.db);
  await setBack();
  expect(await recover(world, agents)).toMatchObject({ kept: 3, refused: [], missing: [], orphans: [] });
  await pollAll(agents);
  expect(await passwordAt(gateway, hosts[0] as Host)).toBe(password);
});

test("a host that does not report keeps the former key needed, until it is declared dead", async () => {
  const ring = keyRing();
  await using world = await newWorld({ keyRing: ring });
  await using gateway = await startGateway(world);
  const hosts = await hostsOf(gateway);
  const agents = hosts.map(({ agent }) => agent);
  await activeClusterOnAgents(world, await world.customer(), agents);
  await pollAll(agents);
  addKey(ring);
  await rotate(world);

  for (const agent of agents.slice(1)) await agent.poll();
  const silent = await world.hostRow(hosts[0]?.identity.id ?? 0);
  expect(needsOf(await statusOf(world), "k1")).toEqual({ [`host ${silent.name}`]: 1 });

  await world.db.updateTable("hosts").set({ state: "dead" }).where("id", "=", silent.id).execute();
  expect(isRemovable(await statusOf(world), "k1")).toBe(true);
});

test("a cluster that is adopted after its row was lost has its secrets, although the key changed meanwhile", async () => {
  const ring = keyRing();
  await using world = await newWorld({ keyRing: ring });
  await using gateway = await startGateway(world);
  const hosts = await hostsOf(gateway);
  const agents = hosts.map(({ agent }) => agent);
  const customer = await world.customer();
  await offerClusterPlan(world);
  const setBack = await copyOf(world.db);
  await activeClusterOnAgents(world, customer, agents);
  await pollAll(agents);
  const password = await passwordAt(gateway, hosts[0] as Host);
  addKey(ring);
  await rotate(world);
  await pollAll(agents);

  await setBack();
  expect((await recover(world, agents)).adopted).toHaveLength(1);
  await pollAll(agents);

  expect(await passwordAt(gateway, hosts[0] as Host)).toBe(password);
});

test("while PostgreSQL counts as set back, no key can be removed", async () => {
  const ring = keyRing();
  await using world = await newWorld({ keyRing: ring });
  addKey(ring);
  await rotate(world);
  expect(isRemovable(await statusOf(world), "k1")).toBe(true);

  await world.db.updateTable("installation").set({ set_back_at: world.time.now }).execute();

  expect(await statusOf(world)).toMatchObject({ recovering: true });
  expect(isRemovable(await statusOf(world), "k1")).toBe(false);
});
