import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { databaseFixture } from "#testing/active-database.ts";
import { until } from "#testing/database-on-agent.ts";
import { repairedCluster } from "#testing/repaired-cluster.ts";
import { startTemporal, type Temporal } from "#testing/temporal.ts";
import { watchedCluster } from "#testing/watched-cluster.ts";
import { newWorld } from "#testing/world.ts";
import { texts } from "../texts.ts";

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

test("the requested node becomes primary, and the request is withdrawn", async () => {
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3 });
  const roleOf = async (ordinal: number) => (await cluster.report((await cluster.nodeAt(ordinal)).id))?.role;
  expect(await roleOf(0)).toBe("primary");

  expect(await cluster.alice.post(`${cluster.database.url}/switchover`)).toMatchObject({ status: 200, body: {} });
  expect(await cluster.status()).toBe("updating");
  await cluster.untilEnded("switchOver");

  expect([await roleOf(1), await cluster.status()]).toEqual(["primary", "active"]);
  expect((await cluster.specs()).map(({ cluster: desired }) => desired?.make_primary)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect((await world.events()).filter(({ action }) => action === "database_switchover")).toMatchObject([
    { status: "finished", username: cluster.alice.username },
  ]);
});

test("a requested change is reported as planned, with its operation", async () => {
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3 });
  await cluster.alice.post(`${cluster.database.url}/switchover`);
  await cluster.untilEnded("switchOver");
  const [from, to] = [await cluster.nodeAt(0), await cluster.nodeAt(1)];
  await cluster.reportChange({
    node: to.id,
    group: to.desired_spec?.cluster?.group as string,
    view: "v:1",
    from: from.id,
    to: to.id,
    at: world.time.now.toISOString(),
    phases: { elected: 20, led: 300 },
  });
  await cluster.checkAfter(1, [0, 1, 2]);

  const { body } = await cluster.alice.get<{ data: object[] }>(`${cluster.database.url}/failovers`);
  expect(body.data).toMatchObject([{ planned: true, from_node: 0, to_node: 1 }]);
  expect((await world.events()).find(({ action }) => action === "database_failover")).toMatchObject({
    operation_id: (await world.lastOperation()).id,
    message_code: "cluster.switchover_receipt",
  });
});

test("an asynchronous cluster hands over in a higher term, and the change is reported as planned", async () => {
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3, replication: "asynch" });
  const primaries = async () => (await cluster.specs()).map(({ cluster: desired }) => desired?.primary);
  await cluster.alice.post(`${cluster.database.url}/switchover`);
  await cluster.untilEnded("switchOver");

  const [from, to] = [await cluster.nodeAt(0), await cluster.nodeAt(1)];
  const primary = { node: to.id, term: 2, reason: "fenced" };
  expect(await primaries()).toEqual([primary, primary, primary]);
  expect([await cluster.status(), (await world.lastOperation()).outcome]).toEqual(["active", "done"]);
  await cluster.reportChange({
    node: to.id,
    group: to.desired_spec?.cluster?.group as string,
    view: "v:2",
    from: from.id,
    to: to.id,
    at: world.time.now.toISOString(),
    phases: { elected: 20, led: 300 },
  });
  await cluster.checkAfter(1, [0, 1, 2]);
  const { body } = await cluster.alice.get<{ data: object[] }>(`${cluster.database.url}/failovers`);
  expect(body.data).toMatchObject([{ planned: true, from_node: 0, to_node: 1 }]);
});

test("when the group does not follow, the previous primary stays, and the request is withdrawn", async () => {
  const instead = (spec: NodeSpec, report: Partial<NodeReport>): Partial<NodeReport> =>
    spec.cluster?.make_primary === undefined || report.group === undefined
      ? report
      : { ...report, group: { ...report.group, role: "secondary" } };
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3, instead });
  await cluster.alice.post(`${cluster.database.url}/switchover`);
  await until(async () => (await cluster.specs()).some(({ cluster: desired }) => desired?.make_primary !== undefined));
  await world.expire((await world.lastOperation()).id);

  expect(await cluster.status()).toBe("active");
  expect(await world.lastOperation()).toMatchObject({ outcome: "failed" });
  expect((await cluster.specs()).map(({ cluster: desired }) => desired?.make_primary)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test.each([
  [
    "with a node that is not healthy",
    { online: 2, shared: false, state: "recovering" },
    texts.nodesUnhealthy({ healthy: 2 }),
  ],
  ["with a long backlog on both others", { backlog_seconds: 8 }, texts.replicasBehind({ seconds: 8, most: 5 })],
] as const)("it is refused %s, and nothing changes", async (_, report, why) => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  await cluster.reportAll({}, "backlog_seconds" in report ? report : {}, report);

  const reply = await cluster.alice.post(`${cluster.database.url}/switchover`);

  const reason = texts.switchoverNotPossible({ why: why.text }).text;
  expect(reply).toMatchObject({ status: 400, body: { errors: [{ reason }] } });
  expect([await cluster.status(), await world.openOperations()]).toEqual(["active", []]);
});

test("a database of one node has no other to switch to", async () => {
  await using world = await newWorld();
  const { alice, database } = await databaseFixture(world);

  expect(await alice.post(`${database.url}/switchover`)).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.switchoverSingleNode().text }] },
  });
});
