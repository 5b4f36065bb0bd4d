import type { NodeSpec } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { activeCluster, CLUSTER_PLAN } from "#testing/active-database.ts";
import { restartingMembers } from "#testing/restarting-members.ts";
import { simulateMember } from "#testing/simulated-group.ts";
import { ENGINE, newWorld, type World } from "#testing/world.ts";
import { texts as databaseTexts } from "../../model/texts.ts";
import { texts } from "../texts.ts";
import type { Rolled } from "./roll-activities.ts";

const [MADE_WITH, NEWER] = ["a".repeat(64), "c".repeat(64)];
const LARGE = { id: "m2-large", label: "Large", class: "standard", memory_mb: 4096, disk_mb: 40_960, vcpus: 2 };
/** A Wednesday; the default window is Sunday, 20:00 to 23:00. */
const WEDNESDAY = "2026-11-18T12:00:00Z";
const SUNDAY = "2026-11-22";

async function createFixture(world: World, fails?: (spec: NodeSpec) => string | undefined, change: object = {}) {
  world.time.now = new Date(WEDNESDAY);
  const members = restartingMembers(fails);
  const hosts = [await world.host(), await world.host(), await world.host()];
  const alice = await world.customer();
  const database = await activeCluster(world, alice, hosts, change);
  await world.operator.post("/admin/plans", LARGE);
  await world.operator.post(`/admin/engines/${ENGINE}/image`, { image: NEWER });
  await members.report(world, hosts);
  const nodes = async () => (await world.nodes()).sort((a, b) => a.ordinal - b.ordinal);
  return {
    alice,
    hosts,
    members,
    database,
    nodes,
    row: () => world.databaseRow(database.id),
    versions: async () =>
      (await nodes()).map(({ desired_spec }) => `${desired_spec?.database.plan} ${desired_spec?.engine.image[0]}`),
    patch: () => alice.post(`${database.url}/patch`),
    resize: () => alice.put(database.url, { type: LARGE.id }),
    report: () => members.report(world, hosts),
    operation: async () => (await world.lastOperation()).id,
  };
}
type Fixture = Awaited<ReturnType<typeof createFixture>>;

/** One step of the change, with the workflow's reaction to it. */
async function step(world: World, fixture: Fixture): Promise<Rolled> {
  const operationId = await fixture.operation();
  const rolled = await world.activities.advanceRoll(operationId);
  if (rolled.next === "settle") await world.activities.endChange(operationId, rolled.settlement);
  if (rolled.next === "switch") {
    const specs = (await fixture.nodes()).map(({ desired_spec }) => desired_spec as NodeSpec);
    if (specs.some(({ cluster }) => cluster?.primary !== undefined)) await handOver(world, fixture, rolled.phase);
    else
      fixture.members.makePrimary(specs.find((spec) => simulateMember(spec).group?.role === "secondary") as NodeSpec);
  }
  await fixture.report();
  return rolled;
}

async function handOver(world: World, fixture: Fixture, phase: string): Promise<void> {
  const operationId = await fixture.operation();
  expect(await world.activities.requestPrimary(operationId, phase)).toMatchObject({ state: "requested" });
  await fixture.report();
  await world.activities.endPrimaryRequest(operationId, phase);
}

/** All steps. Returns the reactions in order. */
async function roll(world: World, fixture: Fixture): Promise<string[]> {
  expect(await world.activities.applyChange(await fixture.operation())).toBe("one by one");
  return rollToEnd(world, fixture);
}
async function rollToEnd(world: World, fixture: Fixture): Promise<string[]> {
  const steps: string[] = [];
  while (steps.at(-1) !== "settle" && steps.length < 20) steps.push((await step(world, fixture)).next);
  return steps;
}

/** Another change of the database, which touches neither size nor image of its nodes. */
async function reset(world: World, fixture: Fixture): Promise<void> {
  await fixture.alice.post(`${fixture.database.url}/credentials/reset`);
  await world.activities.applyChange(await fixture.operation());
  await fixture.report();
  await world.activities.endChange(await fixture.operation(), { done: true });
}

test("a patch changes the secondaries by their ordinals, then switches over, then the old primary", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world);

  expect(await fixture.patch()).toMatchObject({ status: 200 });
  const steps = await roll(world, fixture);

  expect(steps).toEqual(["wait", "wait", "switch", "wait", "settle"]);
  expect(fixture.members.restarted()).toEqual([1, 2, 0]);
  expect(fixture.members.careless()).toEqual([]);
  expect(await fixture.row()).toMatchObject({ status: "active", image: NEWER, patch_due_at: null });
  expect((await world.events()).at(-1)).toMatchObject({ action: "database_update", status: "finished" });
});

test("an asynchronous cluster changes its replicas, then switches over, then the old primary", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world, undefined, { replication_type: "asynch" });
  await fixture.patch();

  expect(await roll(world, fixture)).toEqual(["wait", "wait", "switch", "wait", "settle"]);

  expect(fixture.members.restarted()).toEqual([1, 2, 0]);
  expect(fixture.members.careless()).toEqual([]);
  expect(await fixture.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} c`));
  const [, primary] = (await fixture.nodes()).map(({ id }) => ({ node: id, term: 2, reason: "fenced" }));
  expect((await fixture.nodes()).map(({ desired_spec }) => desired_spec?.cluster?.primary)).toEqual([
    primary,
    primary,
    primary,
  ]);
});

test("given up during a switchover, an asynchronous cluster returns to its previous primary", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world, undefined, { replication_type: "asynch" });
  await fixture.patch();
  const id = await fixture.operation();
  await world.activities.applyChange(id);
  await step(world, fixture);
  await step(world, fixture);
  expect(await world.activities.advanceRoll(id)).toMatchObject({ next: "switch", phase: "switch 1" });
  await world.activities.requestPrimary(id, "switch 1");

  await world.expire(id);

  const [first, second] = (await fixture.nodes()).map(({ id: node }) => node);
  const primary = { node: first, term: 3, reason: "handover", from: second };
  expect((await fixture.nodes()).map(({ desired_spec }) => desired_spec?.cluster?.primary)).toEqual([
    primary,
    primary,
    primary,
  ]);
  expect(await fixture.versions()).toEqual([`${CLUSTER_PLAN} a`, `${CLUSTER_PLAN} c`, `${CLUSTER_PLAN} c`]);
});

test("a resize reserves the room on all three hosts before the first node, and gives every node its size", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world);
  await fixture.resize();

  expect(await world.activities.applyChange(await fixture.operation())).toBe("one by one");
  for (const { id } of fixture.hosts)
    expect(await world.hostRow(id)).toMatchObject({ reserved_memory_mb: 4096, reserved_disk_mb: 40_960 });
  expect(await fixture.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} a`));
  await rollToEnd(world, fixture);

  expect(await fixture.versions()).toEqual(Array(3).fill(`${LARGE.id} a`));
  for (const node of await fixture.nodes())
    expect(node).toMatchObject({ memory_mb: 4096, disk_mb: 40_960, desired_spec: { resources: { disk_mb: 40_960 } } });
  expect(await fixture.row()).toMatchObject({ status: "active", plan: LARGE.id });
  expect(fixture.members.careless()).toEqual([]);
});

test("without room on one host nothing is reserved on any, and no node is changed", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world);
  await world.db
    .updateTable("hosts")
    .set({ disk_mb: LARGE.disk_mb - 1 })
    .where("id", "=", fixture.hosts[2]?.id as number)
    .execute();
  await fixture.resize();

  expect(await world.activities.applyChange(await fixture.operation())).toBe("no room");
  for (const { id } of fixture.hosts) expect(await world.hostRow(id)).toMatchObject({ reserved_disk_mb: 20_480 });
  await world.activities.endChange(await fixture.operation(), { done: false });
  expect(await fixture.row()).toMatchObject({ status: "active", plan: CLUSTER_PLAN });
});

const failures = [
  { at: "the first secondary", ordinal: 1, restarted: [1, 1] },
  { at: "the second secondary", ordinal: 2, restarted: [1, 2, 2, 1] },
  // The other primary has the change by then too: it switches over before it goes back.
  { at: "the old primary", ordinal: 0, restarted: [1, 2, 0, 0, 2, 1] },
];
test.each(failures)(
  "$at fails: it is repaired first, and the others are rolled back one by one",
  async ({ ordinal, restarted }) => {
    await using world = await newWorld();
    const fails = ({ ordinal: own, database }: NodeSpec): string | undefined =>
      own === ordinal && database.plan === LARGE.id ? "it is broken" : undefined;
    const fixture = await createFixture(world, fails);
    const { memory_mb, disk_mb } = await world.account(fixture.alice.accountId);
    await fixture.resize();

    await roll(world, fixture);

    expect(fixture.members.restarted()).toEqual(restarted);
    expect(fixture.members.careless()).toEqual([]);
    expect(await fixture.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} a`));
    expect(await fixture.row()).toMatchObject({ status: "active", plan: CLUSTER_PLAN });
    expect(await world.account(fixture.alice.accountId)).toMatchObject({ memory_mb, disk_mb });
    for (const { id } of fixture.hosts)
      expect(await world.hostRow(id)).toMatchObject({ reserved_memory_mb: 2048, reserved_disk_mb: 20_480 });
    expect((await world.events()).at(-1)).toMatchObject({
      status: "failed",
      message: databaseTexts.resizeFailed({ why: "it is broken" }).text,
    });
  },
);

test("with fewer than three healthy members nothing is sent, and nothing has changed at the deadline", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world, ({ ordinal }) => (ordinal === 2 ? "its disk is gone" : undefined));
  await fixture.resize();
  await world.activities.applyChange(await fixture.operation());

  for (let times = 0; times < 3; times++) expect(await step(world, fixture)).toEqual({ next: "wait" });
  expect(await fixture.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} a`));
  world.time.now = (await world.lastOperation()).deadline_at;

  expect(await rollToEnd(world, fixture)).toEqual(["settle"]);
  expect((await world.events()).at(-1)).toMatchObject({
    message: expect.stringContaining(texts.rollNodesUnhealthy().text),
  });
  expect(await fixture.row()).toMatchObject({ status: "active", plan: CLUSTER_PLAN });
});

test("a silent node has its share of the time, then all are rolled back", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world);
  await fixture.resize();
  const operation = await world.lastOperation();
  await world.activities.applyChange(operation.id);
  await world.activities.advanceRoll(operation.id);
  const share = (operation.deadline_at.getTime() - operation.created_at.getTime()) / 4;
  world.time.now = new Date(operation.created_at.getTime() + share - 1);
  expect(await world.activities.advanceRoll(operation.id)).toEqual({ next: "wait" });

  world.time.now = new Date(operation.created_at.getTime() + share);
  await world.activities.advanceRoll(operation.id);

  expect(await fixture.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} a`));
  expect((await world.lastOperation()).deadline_at).toEqual(new Date(world.time.now.getTime() + 4 * share));
  await fixture.report();
  expect(await rollToEnd(world, fixture)).toEqual(["settle"]);
  expect((await world.events()).at(-1)).toMatchObject({
    message: expect.stringContaining(databaseTexts.hostLate().text),
  });
});

test("a repeated or concurrent step is one step", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world);
  await fixture.patch();
  const id = await fixture.operation();

  await Promise.all([world.activities.applyChange(id), world.activities.applyChange(id)]);
  await Promise.all([
    world.activities.advanceRoll(id),
    world.activities.advanceRoll(id),
    world.activities.advanceRoll(id),
  ]);

  expect(await fixture.versions()).toEqual([`${CLUSTER_PLAN} a`, `${CLUSTER_PLAN} c`, `${CLUSTER_PLAN} a`]);
  await fixture.report();
  await rollToEnd(world, fixture);
  expect(await world.activities.advanceRoll(id)).toEqual({ next: "ended" });
  expect(fixture.members.restarted()).toEqual([1, 2, 0]);
});

test("after a failover in the middle the new primary is the last, without a needless switchover", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world);
  await fixture.patch();
  await world.activities.applyChange(await fixture.operation());
  await step(world, fixture);
  fixture.members.makePrimary((await fixture.nodes())[1]?.desired_spec as NodeSpec);
  await fixture.report();

  expect(await rollToEnd(world, fixture)).toEqual(["wait", "wait", "settle"]);
  expect(fixture.members.restarted()).toEqual([1, 0, 2]);
  expect(fixture.members.careless()).toEqual([]);
});

test.each([
  {
    name: "a patch continues in the next window",
    ask: "patch",
    left: [`${CLUSTER_PLAN} a`, `${CLUSTER_PLAN} c`, `${CLUSTER_PLAN} c`],
  },
  { name: "a resize goes back", ask: "resize", left: Array(3).fill(`${CLUSTER_PLAN} a`) },
] as const)("no other node can become primary until the deadline: $name", async ({ ask, left }) => {
  await using world = await newWorld();
  const fixture = await createFixture(world);
  await fixture[ask]();
  const id = await fixture.operation();
  await world.activities.applyChange(id);
  await step(world, fixture);
  await step(world, fixture);
  for (let times = 0; times < 2; times++)
    expect(await world.activities.advanceRoll(id)).toMatchObject({ next: "switch", phase: "switch 1" });

  world.time.now = (await world.lastOperation()).deadline_at;
  await rollToEnd(world, fixture);

  expect(await fixture.versions()).toEqual(left);
  expect(fixture.members.careless()).toEqual([]);
  expect(await fixture.row()).toMatchObject({ status: "active", plan: CLUSTER_PLAN, image: MADE_WITH });
});

test("a window that ends in the middle pauses after the current node, and the next one continues", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world);
  world.time.now = new Date(`${SUNDAY}T22:48:00Z`);
  await world.run("patches");
  await world.activities.applyChange(await fixture.operation());
  expect((await world.lastOperation()).deadline_at).toEqual(new Date(`${SUNDAY}T23:00:00Z`));
  await world.activities.advanceRoll(await fixture.operation());
  world.time.now = new Date(`${SUNDAY}T22:58:00Z`);
  await fixture.report();

  expect(await rollToEnd(world, fixture)).toEqual(["settle"]);

  expect(await fixture.versions()).toEqual([`${CLUSTER_PLAN} a`, `${CLUSTER_PLAN} c`, `${CLUSTER_PLAN} a`]);
  expect((await world.events()).at(-1)).toMatchObject({
    status: "failed",
    message: expect.stringContaining("1 of 3 nodes have it. It continues in the next maintenance window."),
  });
  expect((await fixture.alice.get(fixture.database.url)).body).toMatchObject({
    status: "active",
    updates: { pending: [{ planned_for: "2026-11-29T20:00:00" }] },
  });
  world.time.now = new Date("2026-11-29T20:00:00Z");
  await world.run("patches");
  await roll(world, fixture);
  expect(fixture.members.restarted()).toEqual([1, 2, 0]);
  expect(await fixture.row()).toMatchObject({ status: "active", image: NEWER, patch_due_at: null });
});

test("after an interrupted patch whose image was withdrawn, the next window makes the nodes equal", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world);
  await fixture.patch();
  await world.activities.applyChange(await fixture.operation());
  await step(world, fixture);
  world.time.now = (await world.lastOperation()).deadline_at;
  await rollToEnd(world, fixture);

  await world.operator.post(`/admin/engines/${ENGINE}/image`, { image: MADE_WITH });
  await reset(world, fixture);

  expect((await fixture.alice.get(fixture.database.url)).body).toMatchObject({
    updates: { pending: [{ planned_for: `${SUNDAY}T20:00:00` }] },
  });
  world.time.now = new Date(`${SUNDAY}T20:00:00Z`);
  await world.run("patches");
  await roll(world, fixture);
  expect(await fixture.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} a`));
  expect(await fixture.row()).toMatchObject({ status: "active", image: MADE_WITH, patch_due_at: null });
});

test("given up by the sweeper, no node restarts: each keeps its version and room until the next window", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world);
  await fixture.resize();
  await world.activities.applyChange(await fixture.operation());
  await step(world, fixture);

  await world.expire(await fixture.operation());
  await reset(world, fixture);

  expect(await fixture.versions()).toEqual([`${CLUSTER_PLAN} a`, `${LARGE.id} a`, `${CLUSTER_PLAN} a`]);
  expect((await fixture.nodes()).map(({ memory_mb }) => memory_mb)).toEqual([2048, 4096, 2048]);
  expect(await fixture.row()).toMatchObject({
    status: "active",
    plan: CLUSTER_PLAN,
    patch_due_at: new Date(`${SUNDAY}T20:00:00Z`),
  });
  world.time.now = new Date(`${SUNDAY}T20:00:00Z`);
  await world.run("patches");
  await roll(world, fixture);
  expect(await fixture.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} c`));
  expect((await fixture.nodes()).map(({ memory_mb }) => memory_mb)).toEqual([2048, 2048, 2048]);
});

test("a list or a password is sent to all nodes at once, and each keeps its image", async () => {
  await using world = await newWorld();
  const fixture = await createFixture(world);
  await fixture.patch();
  await world.activities.applyChange(await fixture.operation());
  await step(world, fixture);
  world.time.now = (await world.lastOperation()).deadline_at;
  await rollToEnd(world, fixture);
  const different = await fixture.versions();

  await fixture.alice.put(fixture.database.url, { allow_list: ["203.0.113.9"] });
  await world.activities.applyChange(await fixture.operation());
  await fixture.report();
  await world.activities.endChange(await fixture.operation(), { done: true });
  await fixture.alice.post(`${fixture.database.url}/credentials/reset`);
  expect(await world.activities.applyChange(await fixture.operation())).toBe("requested");

  expect(await fixture.versions()).toEqual(different);
  for (const { desired_spec } of await fixture.nodes())
    expect(desired_spec).toMatchObject({ credentials: { version: 2 }, database: { allow_list: ["203.0.113.9"] } });
  expect(fixture.members.restarted()).toEqual([1]);
});
