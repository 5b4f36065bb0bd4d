import { expect, test } from "vitest";
import { type WatchedCluster, watchedCluster } from "#testing/watched-cluster.ts";
import { newWorld, type World } from "#testing/world.ts";

type Failover = Record<string, unknown> & { phases: Record<string, number | null> };
const failovers = async ({ alice, database }: WatchedCluster) =>
  (await alice.get<{ data: Failover[]; results: number }>(`${database.url}/failovers`)).body;
const failoverEvents = async (cluster: WatchedCluster) =>
  (await cluster.events("database_failover")).map(({ message }) => message?.split(".")[0]);

test("a failover is one event, whoever reports it first; later reports add when their proxies followed", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);

  await cluster.change(0, 1, 1);
  await cluster.after(1);
  await cluster.change(0, 1, 2, { view: "v:2" });
  await cluster.after(1);

  expect(await failoverEvents(cluster)).toEqual(["Failover from node 0 to node 1"]);
  expect(await failovers(cluster)).toMatchObject({
    results: 1,
    data: [
      {
        planned: false,
        from_node: 0,
        to_node: 1,
        transactions_lost: 0,
        gtid_before: "a:1-9",
        phases: { missed: 900, elected: 6001, led: 6201, all_led: 6202 },
      },
    ],
  });
});

test("the event has the duration of each phase, and the loss", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);

  await cluster.change(0, 1, 1);
  await cluster.after(1);

  expect((await cluster.events("database_failover"))[0]?.message).toBe(
    "Failover from node 0 to node 1. Times since node 0 was last healthy: failure detected after 900 ms, node 1 elected after 6001 ms, clients forwarded to node 1 after 6201 ms. Transactions lost: 0. GTID before: a:1-9. GTID after: a:1-9.",
  );
});

test("a repeated report changes nothing", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  const change = await cluster.change(0, 1, 1);
  await cluster.after(1);
  const before = await failovers(cluster);

  for (let again = 0; again < 3; again++) await (await cluster.hostOf(1)).reportChange(change);
  await cluster.after(1);

  expect(await failovers(cluster)).toEqual(before);
  expect(await failoverEvents(cluster)).toHaveLength(1);
});

test("changes within one view are distinguished, also when the same nodes become primary again", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);

  for (const [from, to] of [
    [0, 1],
    [1, 2],
    [2, 0],
    [0, 1],
  ] as const) {
    for (const by of [0, 1, 2]) await cluster.change(from, to, by);
    await cluster.after(8);
  }

  expect(await failoverEvents(cluster)).toEqual(
    [1, 2, 0, 1].map((to, n) => `Failover from node ${[0, 1, 2, 0][n]} to node ${to}`),
  );
  expect((await failovers(cluster)).results).toBe(4);
});

test("two concurrent reports make one change", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);

  await Promise.all([0, 1, 2].map((by) => cluster.change(0, 1, by)));
  await cluster.after(1);

  expect((await failovers(cluster)).results).toBe(1);
  expect(await failoverEvents(cluster)).toHaveLength(1);
});

test("reporting hosts and a health check do not deadlock", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);

  for (let n = 0; n < 10; n++) {
    const reports = [0, 1, 2].map((by) => cluster.change(n % 2, (n + 1) % 2, by));
    await Promise.all([
      ...reports,
      cluster.reportAll({}, {}, { view: `${n}` }),
      world.run("clusterHealth"),
      world.run("clusterHealth"),
    ]);
    world.time.now = new Date(world.time.now.getTime() + 8000);
  }
  await world.run("clusterHealth");

  expect((await failovers(cluster)).results).toBe(10);
  expect(await failoverEvents(cluster)).toHaveLength(10);
});

test("the first primary replaces nobody: there is no event", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);

  await cluster.change(undefined, 0, 0);
  await cluster.after(1);

  expect(await failoverEvents(cluster)).toEqual([]);
});

test("a host cannot report on a cluster that is not its own, nor on another cluster's nodes", async () => {
  await using world = await newWorld();
  const [cluster, other] = [await watchedCluster(world), await watchedCluster(world)];
  const [own, otherNodes] = [await cluster.nodes(), await nodesOf(world, other)];
  const foreign = cluster.hosts.find(({ id }) => own.every(({ host_id }) => host_id !== id));

  const change = await cluster.change(0, 1, 1, { to: otherNodes[1]?.id as string });
  await foreign?.reportChange({ ...change, to: own[1]?.id as string });
  await cluster.after(1);

  expect((await failovers(cluster)).results).toBe(0);
  expect((await failovers(other)).results).toBe(0);
});

const nodesOf = async (world: World, { database }: WatchedCluster) =>
  (await world.nodes()).filter(({ database_id }) => database_id === database.id);
