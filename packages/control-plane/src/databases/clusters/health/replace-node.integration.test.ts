import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "#testing/database-on-agent.ts";
import { repairedCluster } from "#testing/repaired-cluster.ts";
import { startTemporal, type Temporal } from "#testing/temporal.ts";
import { watchedCluster, type WatchedCluster } from "#testing/watched-cluster.ts";
import { HOST_SILENT_SECONDS, newWorld, type World } from "#testing/world.ts";
import { texts } from "../../workflows/texts.ts";

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

const GONE = HOST_SILENT_SECONDS + 1;

test("a node whose host is gone is replaced on another, and the cluster is healthy again", async () => {
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 4 });
  const { node: old } = await cluster.lose(2);
  await cluster.untilCounted(2, [0, 1]);

  await cluster.checkAfter(GONE, [0, 1]);
  expect(await cluster.status()).toBe("degraded");
  await cluster.untilEnded("replaceNode");

  const fresh = await cluster.nodeAt(2);
  expect(fresh).toMatchObject({ ordinal: 2, port: old.port });
  expect(fresh.id).not.toBe(old.id);
  const hosts = (await cluster.nodes()).map(({ host_id }) => host_id);
  expect([new Set(hosts).size, hosts.includes(old.host_id)]).toEqual([3, false]);
  expect(fresh.desired_spec?.server_id).not.toBe(old.desired_spec?.server_id);
  // All know each other, and no order is left.
  for (const { cluster: desired } of await cluster.specs()) {
    expect(desired?.members.map(({ node }) => node)).toEqual((await cluster.nodes()).map(({ id }) => id));
    expect(desired?.reclone).toBeUndefined();
  }
  // Temporal repeats a step that takes too long.
  expect([...new Set(cluster.named)]).toEqual([(await world.lastOperation()).id]);
  await cluster.untilCounted(3, [0, 1, 2]);
  await cluster.checkAfter(6, [0, 1, 2]);
  expect(await cluster.status()).toBe("active");
  expect((await world.events()).filter(({ action }) => action === "database_node_replace")).toMatchObject([
    { status: "finished" },
  ]);
});

test("its data come from a secondary", async () => {
  const reclones: NonNullable<NodeSpec["cluster"]>["reclone"][] = [];
  const instead = (spec: NodeSpec, report: Partial<NodeReport>): Partial<NodeReport> => {
    if (spec.cluster?.reclone !== undefined) reclones.push(spec.cluster.reclone);
    return report;
  };
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 4, instead });
  await cluster.lose(2);
  await cluster.untilCounted(2, [0, 1]);
  await cluster.checkAfter(GONE, [0, 1]);
  await cluster.untilEnded("replaceNode");

  expect(reclones[0]?.donor).toBe((await cluster.nodeAt(1)).id);
});

test("the room on the old host stays reserved until it confirms the removal, whenever that is", async () => {
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 4 });
  const { node: old, comeBack } = await cluster.lose(2);
  await cluster.untilCounted(2, [0, 1]);
  await cluster.checkAfter(GONE, [0, 1]);
  await cluster.untilEnded("replaceNode");
  const reserved = async () => (await world.hostRow(old.host_id)).reserved_memory_mb;

  await world.run("release");
  await world.run("clusterHealth");
  expect(await reserved()).toBe(old.memory_mb);

  await comeBack();
  await world.run("release");
  expect(await reserved()).toBe(0);
  expect((await cluster.specs()).map(({ tombstone }) => tombstone)).toEqual([undefined, undefined, undefined]);
});

test("the node of a dead host is replaced at once, and its room is free", async () => {
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 4 });
  const { node: old } = await cluster.lose(2);
  await cluster.untilCounted(2, [0, 1]);
  const { name } = await world.hostRow(old.host_id);
  expect((await world.operator.post(`/admin/hosts/${name}/dead`, {})).status).toBe(400);
  await cluster.checkAfter(31, [0, 1]);
  expect(await world.openOperations()).toEqual([]);

  expect(await world.operator.post(`/admin/hosts/${name}/dead`, {})).toMatchObject({ status: 200, body: { nodes: 1 } });
  await cluster.checkAfter(6, [0, 1]);
  await cluster.untilEnded("replaceNode");
  await world.run("clusterHealth");

  expect((await world.hostRow(old.host_id)).reserved_memory_mb).toBe(0);
});

test("a node that lost its data is recloned in place when there is no other host", async () => {
  let broken = false;
  const instead = (spec: NodeSpec, report: Partial<NodeReport>): Partial<NodeReport> =>
    broken && spec.ordinal === 2 && spec.cluster?.reclone === undefined
      ? {
          ...report,
          state: "failed",
          message: "Its volume is gone.",
          group: { state: "away", online: 0, shared: false },
        }
      : report;
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3, instead });
  const old = await cluster.nodeAt(2);
  broken = true;
  await until(async () => (await cluster.nodeAt(2)).observed_state === "failed");
  await cluster.checkAfter(31, [0, 1, 2]);
  await until(async () => {
    const { desired_spec } = await cluster.nodeAt(2);
    if (desired_spec?.cluster?.reclone !== undefined) broken = false;
    return !broken;
  });
  await cluster.untilEnded("replaceNode");

  expect(await world.lastOperation()).toMatchObject({ outcome: "done" });
  expect((await cluster.nodeAt(2)).id).toBe(old.id);
});

test("without room it stays degraded with the reason, and is tried again later", async () => {
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3 });
  const { node: old } = await cluster.lose(2);
  await cluster.untilCounted(2, [0, 1]);
  await cluster.checkAfter(GONE, [0, 1]);
  await cluster.untilEnded("replaceNode");

  expect(await world.lastOperation()).toMatchObject({
    outcome: "failed",
    message: expect.stringContaining(texts.noCapacityForReplacement().text),
  });
  expect([(await cluster.nodeAt(2)).id, await cluster.status()]).toEqual([old.id, "degraded"]);
  const { id } = await world.lastOperation();
  await cluster.checkAfter(60, [0, 1]);
  expect((await world.lastOperation()).id).toBe(id);
  await cluster.checkAfter(600, [0, 1]);
  expect((await world.lastOperation()).id).not.toBe(id);
});

test("a node that came back before it was replaced stays", async () => {
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 4 });
  const { node: old, comeBack } = await cluster.lose(2);
  await cluster.untilCounted(2, [0, 1]);
  await cluster.checkAfter(6, [0, 1]);
  await comeBack();
  await cluster.untilCounted(3, [0, 1, 2]);

  expect(await world.activities.placeReplacement(await opened(world, old.id))).toBe("not needed");
  expect((await cluster.nodeAt(2)).id).toBe(old.id);
});

test("the replaced node is removed even if the workflow never gets past placing the new one", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  const old = await placed(world, cluster);

  expect(await removalOf(world, old)).toEqual({ tombstoned: true, tombstone: (await world.lastOperation()).id });
  // Nor when the operation ends at its deadline, because Temporal is away.
  world.time.now = new Date(world.time.now.getTime() + 7_200_000);
  const { id } = await world.lastOperation();
  await world.expire(id);
  expect(await world.openOperations()).not.toContain("replaceNode");
  expect(await removalOf(world, old)).toEqual({ tombstoned: true, tombstone: id });
});

test("a replaced node without a tombstone gets one, also after its database was deleted", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  const old = await placed(world, cluster);
  const { id } = await world.lastOperation();
  await world.db
    .updateTable("nodes")
    .set({ tombstoned: false, desired_spec: sql`desired_spec - 'tombstone'` })
    .where("id", "=", old)
    .execute();
  const revision = (await world.db.selectFrom("hosts").selectAll().orderBy("id").execute()).map(
    (host) => host.revision,
  );
  await world.db.updateTable("databases").set({ deleted_at: world.time.now }).execute();

  await world.run("tombstones");

  expect(await removalOf(world, old)).toEqual({ tombstoned: true, tombstone: id });
  // Its host is told.
  const after = (await world.db.selectFrom("hosts").selectAll().orderBy("id").execute()).map((host) => host.revision);
  expect(after.filter((each, n) => each !== revision[n])).toHaveLength(1);
  await world.run("tombstones");
  expect((await world.db.selectFrom("hosts").selectAll().orderBy("id").execute()).map((host) => host.revision)).toEqual(
    after,
  );
});

/** The third member is lost, and its replacement placed; nothing runs the rest of the workflow. Answers the old one. */
async function placed(world: World, cluster: WatchedCluster): Promise<string> {
  const old = (await cluster.nodes())[2]?.id as string;
  const two = { online: 2 };
  await cluster.reportAll(two, two);
  await cluster.silence(2);
  await cluster.after(HOST_SILENT_SECONDS + 1);
  for (let again = 0; again < 3; again++) await cluster.after(6);
  expect(await world.activities.placeReplacement((await world.lastOperation()).id)).toBe("placed");
  return old;
}

test("a replacement that is done after its deadline is a member like any other: its order is taken back", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  await placed(world, cluster);
  const { id } = await world.lastOperation();
  await world.activities.endChange(id, { done: false });
  const order = async () => (await cluster.nodes())[2]?.desired_spec?.cluster?.reclone;
  expect(await order()).toBeDefined();
  await cluster.after(6);
  expect(await order()).toBeDefined();

  await cluster.reportAll({}, {}, {});
  await cluster.after(6);

  expect(await cluster.status()).toBe("active");
  expect(await order()).toBeUndefined();
});

async function removalOf(world: World, node: string) {
  const { tombstoned, desired_spec } = await world.db
    .selectFrom("nodes")
    .select(["tombstoned", "desired_spec"])
    .where("id", "=", node)
    .executeTakeFirstOrThrow();
  return { tombstoned, tombstone: desired_spec?.tombstone?.operation };
}

test("a repeated step changes nothing", async () => {
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 4 });
  await cluster.lose(2);
  await cluster.untilCounted(2, [0, 1]);
  await cluster.checkAfter(GONE, [0, 1]);
  await cluster.untilEnded("replaceNode");
  const { id } = await world.lastOperation();
  const before = await world.nodes();

  expect(await world.activities.placeReplacement(id)).toBe("placed");
  await world.activities.tombstoneReplaced(id);
  await world.activities.endChange(id, { done: false });

  const ofAll = (nodes: typeof before) => nodes.map((node) => [node.id, node.desired_generation, node.tombstoned]);
  expect(ofAll(await world.nodes())).toEqual(ofAll(before));
  expect(await world.lastOperation()).toMatchObject({ outcome: "done" });
});

/** An operation that no worker has started. */
async function opened(world: Awaited<ReturnType<typeof newWorld>>, node: string): Promise<number> {
  const { account_id, database_id } = await world.db
    .selectFrom("nodes")
    .select(["account_id", "database_id"])
    .where("id", "=", node)
    .executeTakeFirstOrThrow();
  const { id } = await world.db
    .insertInto("operations")
    .values({
      account_id,
      entity_id: database_id,
      kind: "replaceNode",
      input: JSON.stringify({ node, ordinal: 2 }),
      created_at: world.time.now,
      deadline_at: world.time.now,
      sweep_at: world.time.now,
      started_at: world.time.now,
    } as never)
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}
