import { sql } from "kysely";
import type { Statement } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { activeOnAgent } from "#testing/active-database.ts";
import { copyOf } from "#testing/copy-of.ts";
import { type Gateway, startGateway } from "#testing/gateway.ts";
import { type SimulatedAgent, simulateAgent } from "#testing/simulated-agent.ts";
import { newWorld, type World } from "#testing/world.ts";

const STAYS = "203.0.113.7";
const LEAVES = "198.51.100.66";
const BOTH = [STAYS, LEAVES];
const ONE = [STAYS];

type Customer = Awaited<ReturnType<World["customer"]>>;
type Database = { id: number; url: string };

const installation = (world: World) => world.db.selectFrom("installation").selectAll().executeTakeFirstOrThrow();
const laterBy = (world: World, seconds: number): void => {
  world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
};

async function newHost(gateway: Gateway): Promise<SimulatedAgent> {
  const agent = simulateAgent(gateway, await gateway.enrolledHost());
  await agent.poll();
  return agent;
}

const sourcesOnHost = (agent: SimulatedAgent, { id }: Database): unknown =>
  [...agent.specs.values()].find(({ database }) => database.id === id)?.firewall?.sources;

/** Accepted, applied on the host, and reported to the tenant as applied. */
async function admit(world: World, agent: SimulatedAgent, alice: Customer, { url }: Database, allow_list: string[]) {
  expect(await alice.put(url, { allow_list })).toMatchObject({ status: 200 });
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);
  await agent.poll();
  await world.activities.endChange(id, { done: true });
}

/** The operator's command, while the agent keeps polling. */
async function recover(world: World, agent: SimulatedAgent, meanwhile: () => Promise<unknown> = async () => {}) {
  let done = false;
  const command = world.operator.post("/admin/recover", { wait_seconds: 300 }).finally(() => {
    done = true;
  });
  await meanwhile();
  while (!done) await agent.poll();
  expect(await command).toMatchObject({ status: 200 });
  await agent.poll();
}

async function fixture(world: World, gateway: Gateway) {
  const agent = await newHost(gateway);
  const alice = await world.customer();
  const create = () => activeOnAgent(world, alice, agent, { allow_list: BOTH });
  return { agent, alice, create };
}

test("work that was open in the backup waits, so that its host's later state is noticed", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agent, alice, create } = await fixture(world, gateway);
  const [first, second] = [await create(), await create()];
  await alice.put(second.url, { allow_list: ONE });
  const { id: open } = await world.lastOperation();
  const setBack = await copyOf(world.db);
  await admit(world, agent, alice, first, ONE);
  await setBack();

  await expect(world.activities.applyChange(open)).rejects.toThrow("has not answered since");
  await agent.poll();

  expect(await installation(world)).toMatchObject({ set_back_at: expect.any(Date) });
  await expect(world.activities.applyChange(open)).rejects.toThrow("has not answered since");
  await recover(world, agent);
  expect(await alice.get(first.url)).toMatchObject({ body: { allow_list: ONE } });
  expect(sourcesOnHost(agent, first)).toEqual([`${STAYS}/32`]);
});

test("work that continues while a recovery waits for hosts changes no desired state, and a removed source stays out", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agent, alice, create } = await fixture(world, gateway);
  const database = await create();
  await alice.post(`${database.url}/credentials/reset`);
  const { id: open } = await world.lastOperation();
  const setBack = await copyOf(world.db);
  await world.activities.applyChange(open);
  await agent.poll();
  await world.activities.endChange(open, { done: true });
  await admit(world, agent, alice, database, ONE);
  await setBack();
  await agent.poll();

  await recover(world, agent, async () => {
    await expect.poll(async () => (await installation(world)).recovery_epoch).not.toBeNull();
    await expect(world.activities.applyChange(open)).rejects.toThrow("has not answered since");
  });

  expect(await alice.get(database.url)).toMatchObject({ body: { allow_list: ONE } });
  expect(sourcesOnHost(agent, database)).toEqual([`${STAYS}/32`]);
});

test("a report about a later desired state than ours shows that the database was set back", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agent, alice, create } = await fixture(world, gateway);
  const database = await create();
  const setBack = await copyOf(world.db);
  await admit(world, agent, alice, database, ONE);
  await setBack({ unnoticed: true });
  // Its revision was assigned again: only the report tells.
  await sql`update hosts set revision = revision + 5`.execute(world.db);

  await agent.poll();

  expect(await installation(world)).toMatchObject({ set_back_at: expect.any(Date) });
});

test("an agent that ended while it wrote specs shows a rollback, though it has not recorded their revision", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agent, alice, create } = await fixture(world, gateway);
  const database = await create();
  const { revision } = agent.at;
  const setBack = await copyOf(world.db);
  await admit(world, agent, alice, database, ONE);
  await setBack();
  agent.at.revision = revision;
  // Its report, which would show it too, is late.
  agent.specs.clear();

  await agent.poll();

  expect(await installation(world)).toMatchObject({ set_back_at: expect.any(Date) });
});

test("a server that was set back to the middle of a recovery compares all hosts again, and a removed source stays out", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agent, alice, create } = await fixture(world, gateway);
  const database = await create();
  const late = await newHost(gateway);
  const first = await copyOf(world.db);
  await admit(world, agent, alice, await create(), ONE);
  await first();
  await agent.poll();
  let second = async (): Promise<void> => {};
  await recover(world, agent, async () => {
    await expect.poll(async () => (await installation(world)).recovery_epoch).not.toBeNull();
    // Its digest is stored; the recovery waits for the other host.
    await agent.poll();
    await agent.poll();
    second = await copyOf(world.db);
    await late.poll();
  });
  await admit(world, agent, alice, database, ONE);
  await second();
  await Promise.all([agent.poll(), late.poll()]);

  let done = false;
  const command = world.operator.post("/admin/recover", { wait_seconds: 300 }).finally(() => {
    done = true;
  });
  while (!done) await Promise.all([agent.poll(), late.poll()]);
  expect(await command).toMatchObject({ status: 200, body: { epoch: 3 } });
  await agent.poll();

  expect(await alice.get(database.url)).toMatchObject({ body: { allow_list: ONE } });
  expect(sourcesOnHost(agent, database)).toEqual([`${STAYS}/32`]);
});

test("what a recovery has compared is no sign of another rollback", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agent, alice, create } = await fixture(world, gateway);
  const database = await create();
  const setBack = await copyOf(world.db);
  await admit(world, agent, alice, database, ONE);
  await alice.delete(database.url);
  const { id } = await world.lastOperation();
  await world.activities.setTombstones(id);
  await agent.poll();
  await world.activities.endChange(id, { done: true });
  await setBack();
  await recover(world, agent);

  // A restarted agent reports what it has removed, too.
  await agent.poll();

  expect(await installation(world)).toMatchObject({ set_back_at: null, epoch: 2 });
  expect(await alice.create()).toMatchObject({ status: 200 });
});

test("a host that saw a later position of this server shows that its disk was set back to a snapshot", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agent, alice, create } = await fixture(world, gateway);
  await create();
  const told = agent.at.told as Statement;
  expect(told.position).toMatchObject({ timeline: 1, lsn: expect.any(Number) });
  await agent.poll();
  expect(await installation(world)).toMatchObject({ set_back_at: null });

  const later = { ...told, position: { ...told.position, lsn: Number.MAX_SAFE_INTEGER } };
  agent.at.told = gateway.signed.statement(agent.hostId, later);
  await agent.poll();

  expect(await installation(world)).toMatchObject({ set_back_at: expect.any(Date) });
  expect(await alice.create()).toMatchObject({
    status: 503,
    body: { errors: [{ reason: expect.stringContaining("The control plane was restored from an older copy") }] },
  });
});

test("after a restart that lost nothing, a silent host keeps only its own databases waiting", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const agents = [await newHost(gateway)];
  const alice = await world.customer();
  const first = await activeOnAgent(world, alice, agents[0] as SimulatedAgent, { allow_list: BOTH });
  await sql`update hosts set state = 'drained'`.execute(world.db);
  agents.push(await newHost(gateway));
  const second = await activeOnAgent(world, alice, agents[1] as SimulatedAgent, { allow_list: BOTH });
  await (await copyOf(world.db))();

  for (const { url } of [first, second])
    expect(await alice.put(url, { allow_list: ONE })).toMatchObject({
      status: 503,
      body: { errors: [{ reason: expect.stringContaining("has not answered since") }] },
    });
  await agents[0]?.poll();

  await admit(world, agents[0] as SimulatedAgent, alice, first, ONE);
  expect(await alice.put(second.url, { allow_list: ONE })).toMatchObject({ status: 503 });
  await world.run("proveCurrent");
  expect(await alice.create()).toMatchObject({ status: 503 });

  laterBy(world, 20);
  await world.run("proveCurrent");
  expect(await alice.create()).toMatchObject({ status: 200 });
  expect(await alice.put(second.url, { allow_list: ONE })).toMatchObject({ status: 503 });
  await agents[1]?.poll();
  await admit(world, agents[1] as SimulatedAgent, alice, second, ONE);
});

test("a restart skips ids that an earlier server may have assigned, once", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agent, alice, create } = await fixture(world, gateway);
  const { id: before } = await create();
  await (await copyOf(world.db))();

  await agent.poll();
  await world.run("proveCurrent");
  const { id: first } = (await alice.create()).body;
  await agent.poll();
  const { id: second } = (await alice.create()).body;

  expect(first - before).toBeGreaterThanOrEqual(1_000_000 * 1024);
  expect(second - first).toBe(1024);
});
