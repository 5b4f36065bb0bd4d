/** An enrolled host, or whoever stole its certificate, says what it likes. It is believed only about itself. */
import { randomUUID } from "node:crypto";
import type { DesiredReply, NodeReport, NodeSpec } from "@moorage/contract/agent";
import type { Recovery } from "@moorage/contract/operator";
import { createRandom } from "@moorage/testkit/random.ts";
import { trials } from "@moorage/testkit/turns.ts";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import { activeClusterOnAgents, activeOnAgent, pollAll } from "#testing/active-database.ts";
import { newRequest } from "@moorage/testkit/certificates.ts";
import { copyOf } from "#testing/copy-of.ts";
import { type Gateway, type Identity, startGateway } from "#testing/gateway.ts";
import { type SimulatedAgent, simulateAgent } from "#testing/simulated-agent.ts";
import { newWorld, type World } from "#testing/world.ts";

/** How many random lies are told; `MOORAGE_TRIALS=10000` is the long form. */
const LIES = trials({ short: 100, all: 300 });
const SEED = Number(process.env["MOORAGE_SEED"] ?? 1);

type Liar = Identity & { id: number; name: string };

const claim = (epoch: number, revision = 0) => ({
  epoch,
  revision,
  agent: "liar",
  boot: "b",
  now: new Date().toISOString(),
  trash_mb: 0,
});

async function poll(gateway: Gateway, liar: Liar, body: object) {
  const impatience = setInterval(() => gateway.wakeups.wake(liar.id), 50);
  return gateway.post<DesiredReply>(liar, "/v1/desired", body).finally(() => {
    clearInterval(impatience);
  });
}

/** Honest hosts, one of them with a database of Alice, and one that lies and has no node. */
async function createFixture(world: World, gateway: Gateway, honest = 1) {
  const agents: SimulatedAgent[] = [];
  for (let host = 0; host < honest; host++) agents.push(simulateAgent(gateway, await gateway.enrolledHost()));
  await pollAll(agents);
  const alice = await world.customer();
  const database =
    honest >= 3
      ? await activeClusterOnAgents(world, alice, agents)
      : await activeOnAgent(world, alice, agents[0] as SimulatedAgent);
  await pollAll(agents);
  const liar: Liar = await gateway.enrolledHost();
  const stolen = [...(agents[0]?.specs.values() ?? [])][0] as NodeSpec;
  return { agents, alice, database, liar, stolen };
}
type Fixture = Awaited<ReturnType<typeof createFixture>>;

/** The operator's command, while the honest hosts poll and the liar answers the request for a digest with lies. */
async function recover(world: World, gateway: Gateway, { agents, liar }: Fixture, lies: readonly NodeReport[]) {
  let done = false;
  const command = world.operator.post<Recovery>("/admin/recover", { wait_seconds: 300 }).finally(() => {
    done = true;
  });
  const lie = async (): Promise<void> => {
    while (!done) {
      const { body } = await poll(gateway, liar, claim(0));
      if (body.digest)
        await gateway.post(liar, "/v1/observed", { complete: true, unknown: [], digest: body.epoch, nodes: lies });
    }
  };
  await Promise.all([
    lie(),
    ...agents.map(async (agent) => {
      while (!done) await agent.poll();
    }),
  ]);
  return command;
}

const reportOf = (spec: NodeSpec, change: Partial<NodeReport> = {}): NodeReport => ({
  node: spec.node,
  epoch: spec.epoch,
  generation: spec.generation,
  state: "running",
  percent: 100,
  spec,
  ...change,
});

const hostsOf = async (world: World) =>
  (await world.operator.get<{ data: { id: number; quarantined: boolean }[] }>("/admin/hosts")).body.data;

const isSetBack = async (world: World): Promise<boolean> =>
  (await world.db.selectFrom("installation").select("set_back_at").executeTakeFirstOrThrow()).set_back_at !== null;

test("a host that claims a later epoch is quarantined, and other tenants go on", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { alice, database, liar } = await createFixture(world, gateway);

  expect(await poll(gateway, liar, claim(2))).toMatchObject({ status: 200, body: { epoch: 1 } });

  expect(await isSetBack(world)).toBe(false);
  expect(await hostsOf(world)).toMatchObject([{ quarantined: false }, { id: liar.id, quarantined: true }]);
  expect(await alice.create()).toMatchObject({ status: 200 });
  expect(await alice.put(database.url, { label: "renamed" })).toMatchObject({ status: 200 });
  const audit = world.db.selectFrom("audit").select(["actor", "target"]).where("action", "=", "quarantine_host");
  expect(await audit.execute()).toEqual([{ actor: `host-${liar.id}`, target: `host/${liar.id}` }]);
});

test("a report of a host's own node about a generation that it was not sent is not stored, and quarantines the host", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { alice, liar } = await createFixture(world, gateway);
  await world.db.updateTable("hosts").set({ state: "drained" }).where("id", "!=", liar.id).execute();
  const agent = simulateAgent(gateway, liar);
  await agent.poll();
  await activeOnAgent(world, alice, agent);
  const [spec] = [...agent.specs.values()] as [NodeSpec];

  const report = { ...reportOf({ ...spec, generation: 99 }, { state: "failed" }), seal: spec.seal };
  await gateway.post(liar, "/v1/observed", { complete: false, unknown: [], nodes: [report] });

  expect(await isSetBack(world)).toBe(false);
  expect(await hostsOf(world)).toMatchObject([{ quarantined: false }, { id: liar.id, quarantined: true }]);
  const stored = (await world.nodes()).find(({ id }) => id === spec.node);
  expect(stored).toMatchObject({ observed_state: "running", observed_generation: spec.generation });
});

test("a quarantined host gets no specs, secrets, certificates or addresses, and a recovery releases it", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const fixture = await createFixture(world, gateway);
  const { alice, database, agents, stolen } = fixture;
  const [agent] = agents as [SimulatedAgent];
  agent.at.revision += 1;
  await agent.poll();
  expect(await alice.put(database.url, { allow_list: [] })).toMatchObject({ status: 503 });
  const identity = await world.db.selectFrom("hosts").selectAll().where("id", "=", agent.hostId).executeTakeFirst();
  expect(identity?.quarantined_at).toBeInstanceOf(Date);
  agent.at.revision -= 1;
  await agent.poll();
  expect(await alice.put(database.url, { allow_list: [] })).toMatchObject({ status: 503 });

  expect(await recover(world, gateway, fixture, [])).toMatchObject({ status: 200 });

  expect(await hostsOf(world)).toMatchObject([{ quarantined: false }, { quarantined: false }]);
  await agent.poll();
  expect(await alice.put(database.url, { allow_list: [] })).toMatchObject({ status: 200 });
  expect(agent.specs.get(stolen.node)).toMatchObject({ epoch: 2 });
});

test.each([
  ["an epoch", { epoch: 2 ** 31 }],
  ["a revision", { revision: 2 ** 60 }],
  ["the size of its trash", { trash_mb: 2 ** 60 }],
])("%s beyond what is stored is refused, and changes nothing", async (_, change) => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const liar = await gateway.enrolledHost();
  expect(await poll(gateway, liar, { ...claim(1), ...change })).toMatchObject({ status: 400 });
  expect(await hostsOf(world)).toMatchObject([{ quarantined: false }]);
});

test("the highest epoch that a host can claim does not raise that of a recovery", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const fixture = await createFixture(world, gateway);
  await poll(gateway, fixture.liar, claim(2 ** 31 - 1));
  expect(await recover(world, gateway, fixture, [])).toMatchObject({ status: 200, body: { epoch: 2 } });
});

describe("in a recovery", () => {
  const forgeries: [string, (stolen: NodeSpec, gateway: Gateway, liar: Liar) => NodeReport[]][] = [
    ["its own node", ({ ...spec }) => [reportOf({ ...spec, node: randomUUID(), ordinal: 1 })]],
    ["the node of another host, with the seal of that host", (spec) => [reportOf(spec)]],
    [
      "the node of another host, with a seal that it was given for another spec",
      (spec, { signed }, liar) => {
        const { seal } = signed.spec(liar.id, { ...spec, database: { ...spec.database, id: 999 } });
        return [reportOf({ ...spec, seal })];
      },
    ],
    ["the removal of the database", (spec) => [reportOf({ ...spec, tombstone: { operation: 1 } }, { state: "gone" })]],
    [
      "the removal of a node of its own of that database",
      (spec) => [reportOf({ ...spec, node: randomUUID(), tombstone: { operation: 1 } }, { state: "gone" })],
    ],
    [
      "a database of three on a later timeline",
      ({ cluster, ...spec }) => [
        reportOf({
          ...spec,
          node: randomUUID(),
          data: { timeline: randomUUID(), ordinal: 9, origin: "archive" },
          ...(cluster && { cluster: { ...cluster, members_version: 99 } }),
        }),
      ],
    ],
  ];
  test.each([1, 3])("what a host without nodes reports of a database with %s changes nothing of it", async (size) => {
    await using world = await newWorld();
    await using gateway = await startGateway(world);
    const fixture = await createFixture(world, gateway, size);
    const { agents, alice, database, liar, stolen } = fixture;
    const before = (await alice.get(database.url)).body;

    const lies = forgeries.flatMap(([, forge]) => forge(stolen, gateway, liar));
    const reply = await recover(world, gateway, fixture, lies);

    expect(reply).toMatchObject({ status: 200, body: { adopted: [], deleted: [], missing: [] } });
    expect(reply.body.refused).toHaveLength(forgeries.length);
    expect(reply.body.refused[0]).toContain(liar.name);
    await pollAll(agents);
    expect((await alice.get(database.url)).body).toMatchObject({ ...before, updated: expect.any(String) });
    expect((await world.nodes()).filter(({ host_id }) => host_id === liar.id)).toEqual([]);
    for (const agent of agents) expect([...agent.specs.values()].filter((spec) => spec.tombstone)).toEqual([]);
    for (const { node } of lies) {
      expect(await gateway.post(liar, "/v1/secrets", { node })).toMatchObject({ status: 404 });
      const { csr } = await newRequest();
      expect(await gateway.post(liar, "/v1/certificate", { node, csr })).toMatchObject({ status: 404 });
      expect(await gateway.post(liar, "/v1/recipe", { node, purpose: "verify" })).toMatchObject({ status: 404 });
    }
  });

  test("after a real rollback what nine honest hosts have is adopted, and a liar among them takes nothing", async () => {
    await using world = await newWorld();
    await using gateway = await startGateway(world);
    const fixture = await createFixture(world, gateway, 9);
    const { agents, alice } = fixture;
    const setBack = await copyOf(world.db);
    const lost = await activeOnAgents(world, alice, agents);
    await setBack();
    await pollAll(agents);
    expect(await isSetBack(world)).toBe(true);
    const node = agents
      .flatMap((agent) => [...agent.specs.values()])
      .find(({ database }) => database.id === lost.id) as NodeSpec;

    const reply = await recover(world, gateway, fixture, [
      reportOf({ ...node, node: randomUUID() }),
      reportOf({ ...node, tombstone: { operation: 1 } }, { state: "gone" }),
    ]);

    expect(reply).toMatchObject({
      status: 200,
      body: { adopted: [`${lost.label} (${lost.id})`], deleted: [], missing: [], orphans: expect.anything() },
    });
    expect((await alice.get(lost.url)).body).toMatchObject({ status: "active" });
  });
});

async function activeOnAgents(world: World, alice: Fixture["alice"], agents: readonly SimulatedAgent[]) {
  const { body } = await alice.create();
  const { id } = await world.lastOperation();
  await world.activities.setDesiredNodes(id);
  await pollAll(agents);
  await world.activities.endChange(id, { done: true });
  return { ...body, url: `/v4/databases/mysql/instances/${body.id}` };
}

test(`${LIES} random claims, reports and digests of a host without nodes change no row of anybody else`, async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agents, alice, liar, stolen, database } = await createFixture(world, gateway);
  const random = createRandom(SEED);
  const rows = async (): Promise<unknown> => {
    const found = [];
    for (const table of ["databases", "nodes", "operations", "members", "clusters", "events", "installation"])
      found.push((await sql`select * from ${sql.table(table)} order by 1, 2`.execute(world.db)).rows);
    const { rows: hosts } = await sql`select * from hosts where id <> ${liar.id}`.execute(world.db);
    return [...found, hosts];
  };
  const number = (): number => random.oneOf([0, 1, 2, 3, 99, 2 ** 31 - 1, 2 ** 31, -1]);
  const forgedSpec = (): NodeSpec => ({
    ...stolen,
    epoch: number(),
    generation: number(),
    node: random.oneOf([stolen.node, randomUUID()]),
    ...(random.oneOf([true, false]) && { tombstone: { operation: number() } }),
    seal: random.oneOf([stolen.seal, "", "k1.x", `${"0".repeat(64)}.k1.`, undefined]),
  });
  const report = (): NodeReport => {
    const spec = forgedSpec();
    const state = random.oneOf(["running", "gone", "failed", "working", "stopped"] as const);
    return reportOf(spec, { seal: spec.seal, state, ...(random.oneOf([true, false]) && { spec: undefined }) });
  };
  const before = await rows();
  for (let lie = 0; lie < LIES; lie++) {
    const body =
      lie % 3 === 0
        ? { ...claim(number(), number()), told: { ...agents[0]?.at.told, epoch: number(), revision: number() } }
        : { complete: true, unknown: [], nodes: [report(), report()], ...(lie % 3 === 1 && { digest: number() }) };
    const reply = await (lie % 3 === 0 ? poll(gateway, liar, body) : gateway.post(liar, "/v1/observed", body));
    expect([200, 400]).toContain(reply.status);
    expect(JSON.stringify(reply.body)).not.toContain(stolen.node);
  }
  expect(await rows()).toEqual(before);
  expect(await alice.get(database.url)).toMatchObject({ body: { status: "active" } });
});
