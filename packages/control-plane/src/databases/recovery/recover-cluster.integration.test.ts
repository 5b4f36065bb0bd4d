import type { NodeSpec, SecretsReply } from "@moorage/contract/agent";
import type { Recovery } from "@moorage/contract/operator";
import { expect, test } from "vitest";
import {
  activeClusterOnAgents,
  activeOnAgent,
  CLUSTER_PLAN,
  offerClusterPlan,
  pollAll,
} from "#testing/active-database.ts";
import { hasBackup, later } from "#testing/archive-records.ts";
import { copyOf } from "#testing/copy-of.ts";
import { type Gateway, type Identity, startGateway } from "#testing/gateway.ts";
import { type SimulatedAgent, simulateAgent } from "#testing/simulated-agent.ts";
import { leaveGroup } from "#testing/simulated-group.ts";
import { newWorld, type World } from "#testing/world.ts";
import { addMembers, allocateReplacement, markReplaced, raiseMembersVersion, setDesiredSpecs } from "#fleet/index.ts";
import { loadDatabase, specsOf } from "../spec/desired-specs.ts";

type Host = { agent: SimulatedAgent; identity: Identity & { id: number } };

async function createFixture(world: World, gateway: Gateway, count = 3) {
  await offerClusterPlan(world);
  const hosts: Host[] = [];
  for (let n = 0; n < count; n++) {
    const identity = await gateway.enrolledHost();
    const agent = simulateAgent(gateway, identity);
    await agent.poll();
    hosts.push({ agent, identity });
  }
  return { hosts, agents: hosts.map(({ agent }) => agent), alice: await world.customer() };
}

/** The operator's command, while the agents continue to poll. */
async function recover(world: World, agents: readonly SimulatedAgent[], body: object = {}): Promise<Recovery> {
  let done = false;
  const command = world.operator.post<Recovery>("/admin/recover", { wait_seconds: 300, ...body }).finally(() => {
    done = true;
  });
  await Promise.all(
    agents.map(async (agent) => {
      while (!done) await agent.poll();
    }),
  );
  const { status, body: found } = await command;
  expect([status, found]).toEqual([200, expect.anything()]);
  await pollAll(agents);
  return found;
}

/** The present specs of a database's nodes, by ordinal. */
const specs = async (world: World): Promise<NodeSpec[]> =>
  (await world.nodes())
    .filter(({ desired_spec, released_at, tombstoned }) => desired_spec !== null && released_at === null && !tombstoned)
    .sort((a, b) => a.ordinal - b.ordinal)
    .map(({ desired_spec }) => desired_spec as NodeSpec);
const membersTold = async (world: World): Promise<string[][]> =>
  (await specs(world)).map(({ cluster }) => (cluster?.members ?? []).map(({ node }) => node));

const secretsAt = async (gateway: Gateway, { identity, agent }: Host): Promise<SecretsReply> => {
  const [node] = [...agent.specs.keys()];
  return (await gateway.post<SecretsReply>(identity, "/v1/secrets", { node })).body;
};

test("a cluster created after the backup is adopted once, with its members, group and password", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { hosts, agents, alice } = await createFixture(world, gateway);
  const setBack = await copyOf(world.db);
  const lost = await activeClusterOnAgents(world, alice, agents);
  await pollAll(agents);
  const before = { specs: await specs(world), secrets: await secretsAt(gateway, hosts[0] as Host) };
  await setBack();

  const found = await recover(world, agents);

  expect(found).toMatchObject({ adopted: [`${lost.label} (${lost.id})`], missing: [], orphans: [] });
  const after = await specs(world);
  expect(after.map(({ cluster }) => cluster)).toEqual(before.specs.map(({ cluster }) => cluster));
  expect(await world.account(alice.accountId)).toMatchObject({ databases: 1, nodes: 3 });
  expect((await alice.get(lost.url)).body).toMatchObject({
    status: "active",
    cluster_size: 3,
    replication_type: "semi_synch",
  });
  const secrets = await secretsAt(gateway, hosts[0] as Host);
  expect(secrets.group_password).toBe(before.secrets.group_password);
  expect(secrets.admin_password).not.toBe(before.secrets.admin_password);
});

test("no member may bootstrap after a recovery, even if the backup has it as provisioning", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agents, alice } = await createFixture(world, gateway);
  await activeClusterOnAgents(world, alice, agents);
  await alice.create({ type: CLUSTER_PLAN, cluster_size: 3 });
  const { id } = await world.lastOperation();
  await world.activities.setDesiredNodes(id);
  const setBack = await copyOf(world.db);
  await pollAll(agents);
  await world.activities.endChange(id, { done: true });
  await pollAll(agents);
  await setBack();

  await recover(world, agents);

  expect((await specs(world)).filter(({ cluster }) => cluster?.bootstrap !== undefined)).toEqual([]);
  expect((await specs(world)).length).toBe(6);
});

/** As the switchover workflow starts it: all members get the next primary and its term. */
async function switchOver(world: World, url: string, alice: Awaited<ReturnType<World["customer"]>>) {
  await alice.post(`${url}/switchover`);
  await world.activities.requestPrimary((await world.lastOperation()).id, "switch 1");
}

const desiredPrimaries = async (world: World) => (await specs(world)).map(({ cluster }) => cluster?.primary);

test("after a recovery all hosts get the highest term of any host, and none a lower one", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agents, alice } = await createFixture(world, gateway);
  const { url, id } = await activeClusterOnAgents(world, alice, agents, { replication_type: "asynch" });
  await pollAll(agents);
  const setBack = await copyOf(world.db);
  await switchOver(world, url, alice);
  const [, second] = await specs(world);
  expect((await desiredPrimaries(world))[0]).toMatchObject({ node: second?.node, term: 2, reason: "handover" });
  // Only the last host has received it.
  await agents[2]?.poll();
  await setBack();
  const terms: (number | undefined)[] = [];
  const listens = (agent: SimulatedAgent): SimulatedAgent => ({
    ...agent,
    async poll() {
      const reply = await agent.poll();
      terms.push(...((reply.nodes ?? []) as NodeSpec[]).map(({ cluster }) => cluster?.primary?.term));
      return reply;
    },
  });

  await recover(world, [...agents.slice(0, 2), ...agents.slice(2).map(listens)]);

  expect(new Set(terms)).toEqual(new Set([2]));
  const primary = { node: second?.node, term: 2, reason: "handover", from: expect.any(String) };
  expect(await desiredPrimaries(world)).toEqual([primary, primary, primary]);
  expect(await world.db.selectFrom("primary_terms").selectAll().execute()).toMatchObject([
    { database_id: id, node_id: second?.node, term: 2, reason: "handover" },
  ]);
});

test("a term that only a host left out of the recovery knows is never used again", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agents, alice } = await createFixture(world, gateway);
  const { url } = await activeClusterOnAgents(world, alice, agents, { replication_type: "asynch" });
  await pollAll(agents);
  const setBack = await copyOf(world.db);
  await switchOver(world, url, alice);
  const forgotten = (await desiredPrimaries(world))[0]?.term ?? 0;
  await setBack();
  await recover(world, agents);

  await switchOver(world, url, alice);

  expect((await desiredPrimaries(world))[0]?.term).toBeGreaterThan(forgotten + 1000);
});

test("a cluster created after the backup has its primary again, whichever host is compared first", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agents, alice } = await createFixture(world, gateway);
  const setBack = await copyOf(world.db);
  const { url, id } = await activeClusterOnAgents(world, alice, agents, { replication_type: "asynch" });
  await pollAll(agents);
  await switchOver(world, url, alice);
  await pollAll(agents);
  const before = await desiredPrimaries(world);
  await setBack();

  await recover(world, agents);

  expect(await desiredPrimaries(world)).toEqual(before);
  expect(await world.db.selectFrom("primary_terms").selectAll().execute()).toMatchObject([
    { database_id: id, node_id: before[0]?.node, term: 2, from_node: before[0]?.from },
  ]);
});

/** As the replacement workflow does it: another node replaces the last one, whose host stays as it was. */
async function replaceLast(world: World, databaseId: number): Promise<{ former: string; successor: string }> {
  const operation = await world.lastOperation();
  return world.db.transaction().execute(async (tx) => {
    const context = await loadDatabase(tx, operation.id, {
      log_seconds: 60,
      copy_hours: { from: 18, to: 24 },
      verify_days: 7,
    });
    const { database, plan } = context;
    const present = (await world.nodes()).filter(
      ({ database_id, replaced_at }) => database_id === databaseId && replaced_at === null,
    );
    const former = present.find(({ ordinal }) => ordinal === 2);
    if (former === undefined) throw new Error("There is no third node.");
    await markReplaced(tx, former.id, world.time.now);
    const successor = await allocateReplacement(
      tx,
      {
        accountId: database.account_id,
        databaseId,
        region: database.region,
        ordinal: 2,
        port: former.port,
        memory_mb: plan.memory_mb,
        disk_mb: plan.disk_mb,
      },
      world.time.now,
    );
    if (successor === undefined || successor === "hosts are busy") throw new Error("There is no room.");
    await addMembers(tx, database, [successor]);
    await raiseMembersVersion(tx, database);
    const nodes = present.filter(({ id }) => id !== former.id);
    const zone = "moorage.test";
    await setDesiredSpecs(tx, operation.id, `replace ${former.id}`, [
      ...(await specsOf(tx, [...nodes, successor], { ...context, zone })),
      ...(await specsOf(tx, [former], { ...context, zone })).map((spec) => ({
        ...spec,
        tombstone: { operation: operation.id },
      })),
    ]);
    return { former: former.id, successor: successor.id };
  });
}

test.each([
  ["has removed it", true],
  ["did not receive it", false],
])(
  "a member replaced after the backup stays replaced when its host %s, and the database still exists",
  async (_, reachable) => {
    await using world = await newWorld();
    await using gateway = await startGateway(world);
    const { agents, hosts, alice } = await createFixture(world, gateway, 4);
    const database = await activeClusterOnAgents(world, alice, agents);
    await pollAll(agents);
    const setBack = await copyOf(world.db);
    const { former, successor } = await replaceLast(world, database.id);
    const [{ cluster }] = (await specs(world)) as [NodeSpec];
    leaveGroup(cluster?.group as string, former);
    await pollAll(hosts.filter(({ agent }) => reachable || !agent.specs.has(former)).map(({ agent }) => agent));
    await setBack();

    const found = await recover(world, agents);

    expect(found).toMatchObject({ deleted: [], missing: [] });
    const [first, second] = (await specs(world)).map(({ node }) => node);
    expect(await membersTold(world)).toEqual([
      [first, second, successor],
      [first, second, successor],
      [first, second, successor],
    ]);
    expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
    expect(found.orphans.map((orphan) => orphan.split(" ")[0])).toEqual(reachable ? [] : [former]);
  },
);

test("a replacement stays when a host that missed it is compared last and the old host is left out", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agents, hosts, alice } = await createFixture(world, gateway, 4);
  // So that the replacement's host is compared first.
  const setState = (state: "active" | "drained") =>
    world.db
      .updateTable("hosts")
      .set({ state })
      .where("id", "=", hosts[0]?.identity.id as number)
      .execute();
  await setState("drained");
  const database = await activeClusterOnAgents(world, alice, agents);
  await setState("active");
  await pollAll(agents);
  const setBack = await copyOf(world.db);
  // What all hosts receive after the backup.
  await alice.put(database.url, { allow_list: ["192.0.2.7"] });
  await world.activities.applyChange((await world.lastOperation()).id);
  await pollAll(agents);
  const { former, successor } = await replaceLast(world, database.id);
  const [{ cluster, node: first }, { node: second }] = (await specs(world)) as [NodeSpec, NodeSpec];
  leaveGroup(cluster?.group as string, former);
  const away = hosts.find(({ agent }) => agent.specs.has(former)) as Host;
  const late = hosts.findLast(({ agent }) => agent !== away.agent) as Host;
  const reachable = hosts.filter((host) => host !== away && host !== late).map(({ agent }) => agent);
  await pollAll(reachable);
  await setBack();

  const { name } = await world.hostRow(away.identity.id);
  const left = agents.filter((agent) => agent !== away.agent);
  const found = await recover(world, left, { without: [name] });

  expect(found).toMatchObject({ deleted: [], missing: [], orphans: [] });
  const now = [first, second, successor];
  expect(await membersTold(world)).toEqual([now, now, now]);
});

test("of two replacements of one place the second counts, although a host that is compared last knows only the first", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agents, hosts, alice } = await createFixture(world, gateway, 5);
  // So that the hosts of both replacements are compared first.
  const setState = (state: "active" | "drained") =>
    world.db
      .updateTable("hosts")
      .set({ state })
      .where(
        "id",
        "in",
        hosts.slice(0, 2).map(({ identity }) => identity.id),
      )
      .execute();
  await setState("drained");
  const database = await activeClusterOnAgents(world, alice, agents);
  await setState("active");
  await pollAll(agents);
  const setBack = await copyOf(world.db);
  const [{ cluster, node: first }, { node: second }] = (await specs(world)) as [NodeSpec, NodeSpec];
  const replace = async (): Promise<{ former: string; successor: string }> => {
    const replaced = await replaceLast(world, database.id);
    leaveGroup(cluster?.group as string, replaced.former);
    return replaced;
  };
  await replace();
  await pollAll(agents);
  const { successor } = await replace();
  const late = agents.findLast(({ specs: known }) => known.has(first) || known.has(second));
  await pollAll(agents.filter((agent) => agent !== late));
  await setBack();

  const found = await recover(world, agents);

  expect(found).toMatchObject({ deleted: [], missing: [], orphans: [] });
  const now = [first, second, successor];
  expect(await membersTold(world)).toEqual([now, now, now]);
});

test.each([
  ["is left out", false],
  ["is back with the previous data", true],
])(
  "a database of one node that was restored on another host after the backup stays there, when its former host %s",
  async (_, isBack) => {
    await using world = await newWorld();
    await using gateway = await startGateway(world);
    const { agents, hosts, alice } = await createFixture(world, gateway, 2);
    const [former, other] = hosts as [Host, Host];
    await world.operator.post(`/admin/hosts/${(await world.hostRow(other.identity.id)).name}/drain`, {});
    const database = await activeOnAgent(world, alice, former.agent);
    const backup = await hasBackup(world, database);
    await world.db.updateTable("hosts").set({ state: "active" }).execute();
    const setBack = await copyOf(world.db);
    const { name } = await world.hostRow(former.identity.id);
    later(world, 600);
    await other.agent.poll();
    expect(await world.operator.post(`/admin/hosts/${name}/dead`, {})).toMatchObject({ status: 200 });
    expect(await alice.post(`${database.url}/backups/${backup.id}/restore`)).toMatchObject({ status: 200 });
    const { id } = await world.lastOperation();
    await world.activities.setRestoredTimeline(id);
    await other.agent.poll();
    await world.activities.endChange(id, { done: true });
    await other.agent.poll();
    const [restored] = [...other.agent.specs.values()];
    await setBack();

    const found = isBack ? await recover(world, agents) : await recover(world, [other.agent], { without: [name] });

    expect(found).toMatchObject({ deleted: [], missing: [] });
    expect((await specs(world)).map(({ node, data }) => [node, data?.timeline])).toEqual([
      [restored?.node, restored?.data?.timeline],
    ]);
    expect(found.orphans.length).toBe(isBack ? 1 : 0);
    expect((await alice.get(database.url)).body).toMatchObject({ status: "active" });
    expect([...other.agent.specs.values()]).toMatchObject([
      { node: restored?.node, data: { timeline: restored?.data?.timeline } },
    ]);
  },
);

test("a cluster deleted after the backup stays deleted, also on hosts that did not learn of it", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agents, alice } = await createFixture(world, gateway);
  const database = await activeClusterOnAgents(world, alice, agents);
  await pollAll(agents);
  const setBack = await copyOf(world.db);
  await alice.delete(database.url);
  await world.activities.setTombstones((await world.lastOperation()).id);
  await agents[1]?.poll();
  await setBack();

  const found = await recover(world, agents);

  expect(found).toMatchObject({ deleted: [`${database.label} (${database.id})`], adopted: [], missing: [] });
  await world.run("release");
  expect(
    (await world.nodes()).map(({ observed_state, released_at }) => [observed_state, released_at !== null]),
  ).toEqual([
    ["gone", true],
    ["gone", true],
    ["gone", true],
  ]);
  expect(await world.account(alice.accountId)).toMatchObject({ databases: 0, nodes: 0 });
});

test("a list that only some hosts of a cluster had is sent to all of them", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agents, alice } = await createFixture(world, gateway);
  const database = await activeClusterOnAgents(world, alice, agents, { allow_list: ["203.0.113.7"] });
  await pollAll(agents);
  const setBack = await copyOf(world.db);
  await alice.put(database.url, { allow_list: ["198.51.100.0/24"] });
  await world.activities.applyChange((await world.lastOperation()).id);
  await agents[2]?.poll();
  await setBack();

  await recover(world, agents);

  expect(agents.map(({ specs: known }) => [...known.values()].map(({ firewall }) => firewall?.sources))).toEqual([
    [["198.51.100.0/24"]],
    [["198.51.100.0/24"]],
    [["198.51.100.0/24"]],
  ]);
});

test("a member that its host lost counts as failed, and the others stay as they are", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const { agents, alice } = await createFixture(world, gateway);
  const database = await activeClusterOnAgents(world, alice, agents);
  await pollAll(agents);
  const [, second] = await membersTold(world);
  for (const { specs: known } of agents) known.delete(second?.[1] as string);

  const found = await recover(world, agents);

  expect(found).toMatchObject({ kept: 2, missing: [`${database.label} (${database.id})`] });
  expect((await world.nodes()).find(({ id }) => id === second?.[1])).toMatchObject({
    desired_spec: null,
    observed_state: "failed",
  });
  expect(await membersTold(world)).toEqual([second, second]);
});
