import type { NodeSpec, SecretsReply } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { activeCluster, CLUSTER_PLAN, offerClusterPlan, reportMembers } from "#testing/active-database.ts";
import { startGateway } from "#testing/gateway.ts";
import { newWorld, PLAN, type World } from "#testing/world.ts";
import { createSecretsOf } from "../api/credentials.ts";

const INSTANCES = "/v4/databases/mysql/instances";

async function createFixture(world: World) {
  await offerClusterPlan(world);
  const hosts = [await world.host({ private_address: "10.9.0.1" }), await world.host(), await world.host()];
  return { alice: await world.customer(), hosts };
}
const create = (customer: Awaited<ReturnType<World["customer"]>>, change: object = {}) =>
  customer.create({ type: CLUSTER_PLAN, cluster_size: 3, ...change });
const specs = async (world: World): Promise<NodeSpec[]> =>
  (await world.nodes()).sort((a, b) => a.ordinal - b.ordinal).map(({ desired_spec }) => desired_spec as NodeSpec);

test("a database of three nodes counts three times, is semi-synchronous, and has no read-only port yet", async () => {
  await using world = await newWorld();
  const { alice } = await createFixture(world);

  const { status, body } = await create(alice);

  expect(status).toBe(200);
  expect(body).toMatchObject({ cluster_size: 3, replication_type: "semi_synch", port: null, read_only_port: null });
  expect(await world.account(alice.accountId)).toMatchObject({
    databases: 1,
    nodes: 3,
    memory_mb: 6144,
    disk_mb: 61_440,
  });
});

test("three nodes without replication are refused, with the valid values", async () => {
  await using world = await newWorld();
  const { alice } = await createFixture(world);

  const reason = "replication_type must be a valid value: semi_synch or asynch, for a database of three nodes";
  expect(await create(alice, { replication_type: "none" })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "replication_type", reason }] },
  });
});

test("a type with too little memory for three nodes is refused, with the types that have enough", async () => {
  await using world = await newWorld();
  const { alice } = await createFixture(world);

  expect(await create(alice, { type: PLAN })).toMatchObject({
    status: 400,
    body: {
      errors: [
        {
          field: "type",
          reason: `type must be a valid value: ${CLUSTER_PLAN} (each of three nodes needs at least 2048 MB of memory, and ${PLAN} has 1024 MB)`,
        },
      ],
    },
  });
});

test("a type shows its node counts and their prices", async () => {
  await using world = await newWorld();
  await world.operator.post("/admin/plans", {
    id: CLUSTER_PLAN,
    label: "Medium",
    class: "standard",
    memory_mb: 2048,
    disk_mb: 20_480,
    vcpus: 1,
    price: { hourly: "0.03", monthly: "20" },
  });

  const { body } = await world.anonymous.get<{ data: { id: string; engines: object }[] }>("/v4/databases/types");

  expect(Object.fromEntries(body.data.map(({ id, engines }) => [id, engines]))).toMatchObject({
    [PLAN]: { mysql: [{ quantity: 1 }] },
    [CLUSTER_PLAN]: {
      mysql: [
        { quantity: 1, price: { hourly: 0.03, monthly: 20 } },
        { quantity: 3, price: { hourly: 0.09, monthly: 60 } },
      ],
    },
  });
});

test("three nodes beyond an account's limit are refused", async () => {
  await using world = await newWorld();
  await offerClusterPlan(world);
  const alice = await world.customer({ limits: { nodes: 2 } });

  expect((await create(alice)).status).toBe(400);
  expect(await world.openOperations()).toEqual([]);
});

test("its nodes are on three hosts with one port, know each other, and only the first may bootstrap", async () => {
  await using world = await newWorld();
  const { alice, hosts } = await createFixture(world);
  await create(alice);
  const { id } = await world.lastOperation();

  expect(await world.activities.setDesiredNodes(id)).toBe("requested in a group");

  const desired = await specs(world);
  const members = desired.map(({ node, ordinal }) => expect.objectContaining({ node, ordinal }));
  const group = desired[0]?.data?.timeline as string;
  expect(new Set((await world.nodes()).map(({ host_id }) => host_id)).size).toBe(3);
  expect(new Set(desired.map(({ network }) => network.port)).size).toBe(1);
  expect(desired.map(({ cluster }) => cluster)).toEqual([
    { replication: "semi_synch", group, members, members_version: 1, bootstrap: group },
    { replication: "semi_synch", group, members, members_version: 1 },
    { replication: "semi_synch", group, members, members_version: 1 },
  ]);
  const ofFirst = desired[0]?.cluster?.members.find(({ host }) => host === `host-${hosts[0]?.id}`);
  expect(ofFirst?.address).toBe("10.9.0.1");
});

test("the permission to bootstrap is withdrawn at the end, and never given again", async () => {
  await using world = await newWorld();
  const { alice, hosts } = await createFixture(world);

  const database = await activeCluster(world, alice, hosts);

  const { id } = await world.lastOperation();
  await world.activities.setDesiredNodes(id);
  expect((await specs(world)).map(({ cluster, generation }) => [cluster?.bootstrap, generation])).toEqual([
    [undefined, 2],
    [undefined, 2],
    [undefined, 2],
  ]);
  const { body } = await alice.get<{ port: number; read_only_port: number }>(`${INSTANCES}/${database.id}`);
  expect(body).toMatchObject({ status: "active", read_only_port: body.port + 8192 });
});

test("it is not ready before all three members are in the group", async () => {
  await using world = await newWorld();
  const { alice, hosts } = await createFixture(world);
  await create(alice);
  const { id } = await world.lastOperation();
  await world.activities.setDesiredNodes(id);

  await reportMembers(world, hosts.slice(0, 2));
  expect(await world.checkPhase(id, "running")).toEqual({ state: "pending" });
  await reportMembers(world, hosts);
  expect(await world.checkPhase(id, "running")).toEqual({ state: "observed" });
});

test("a failed provision also withdraws the permission to bootstrap", async () => {
  await using world = await newWorld();
  const { alice } = await createFixture(world);
  const { body } = await create(alice);
  const { id } = await world.lastOperation();
  await world.activities.setDesiredNodes(id);

  await world.expire(id);

  expect((await specs(world)).map(({ cluster }) => cluster?.bootstrap)).toEqual([undefined, undefined, undefined]);
  expect(await world.databaseRow(body.id)).toMatchObject({ status: "failed" });
});

test("two hosts have no room for three nodes", async () => {
  await using world = await newWorld();
  await offerClusterPlan(world);
  await Promise.all([world.host(), world.host()]);
  await create(await world.customer());

  expect(await world.activities.setDesiredNodes((await world.lastOperation()).id)).toBe("no room");
  expect(await world.nodes()).toEqual([]);
});

test("its hosts get the same password for their members' account, which is stored sealed", async () => {
  await using world = await newWorld();
  const { alice, hosts } = await createFixture(world);
  const { id } = await activeCluster(world, alice, hosts);
  const secretsOf = createSecretsOf(world);

  const given: Omit<SecretsReply, "protocol">[] = [];
  for (const { id: node } of await world.nodes())
    given.push(await secretsOf({ accountId: alice.accountId, databaseId: id, node }));

  const passwords = new Set(given.map(({ group_password }) => group_password));
  expect([...passwords]).toEqual([expect.stringMatching(/^[\w-]{32}$/)]);
  const row = await world.db.selectFrom("clusters").selectAll().executeTakeFirstOrThrow();
  expect(row.group_password).not.toContain([...passwords][0]);
});

test("a database of one node has no cluster, and its host gets no such password", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  await gateway.post(host, "/v1/desired", {
    epoch: 0,
    revision: 0,
    agent: "a",
    boot: "b",
    now: new Date().toISOString(),
    trash_mb: 0,
  });
  const alice = await world.customer();
  const { body } = await alice.create();
  await world.activities.setDesiredNodes((await world.lastOperation()).id);

  const [spec] = await specs(world);
  const { body: secrets } = await gateway.post(host, "/v1/secrets", { node: spec?.node });

  expect(spec).not.toHaveProperty("cluster");
  expect(secrets).not.toHaveProperty("group_password");
  expect((await alice.get(`${INSTANCES}/${body.id}`)).body).toMatchObject({ read_only_port: null });
});
