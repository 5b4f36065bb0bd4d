import type { NodeSpec } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { activeCluster, CLUSTER_PLAN } from "#testing/active-database.ts";
import { restartingMembers } from "#testing/restarting-members.ts";
import { simulateMember } from "#testing/simulated-group.ts";
import { ENGINE, newWorld, type World } from "#testing/world.ts";
import type { Rolled } from "./roll-activities.ts";

const [MADE_WITH, NEWER] = ["a".repeat(64), "c".repeat(64)];
const LARGE = { id: "m2-large", label: "Large", class: "standard", memory_mb: 4096, disk_mb: 40_960, vcpus: 2 };
/** A Wednesday; the default window is Sunday, 20:00 to 23:00. */
const WEDNESDAY = "2026-11-18T12:00:00Z";
const SUNDAY = "2026-11-22";

async function staged(world: World, fails?: (spec: NodeSpec) => string | undefined, change: object = {}) {
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
    ...{ alice, hosts, members, database, nodes },
    row: () => world.databaseRow(database.id),
    versions: async () => (await nodes()).map(({ wanted }) => `${wanted?.database.plan} ${wanted?.engine.image[0]}`),
    patch: () => alice.post(`${database.url}/patch`),
    resize: () => alice.put(database.url, { type: LARGE.id }),
    report: () => members.report(world, hosts),
    operation: async () => (await world.lastOperation()).id,
  };
}
type Stage = Awaited<ReturnType<typeof staged>>;

/** One step of the change, with whatever the workflow would do about it. */
async function step(world: World, stage: Stage): Promise<Rolled> {
  const operationId = await stage.operation();
  const rolled = await world.activities.rollOn(operationId);
  if (rolled.next === "settle") await world.activities.settleChange(operationId, rolled.settlement);
  if (rolled.next === "switch") {
    const specs = (await stage.nodes()).map(({ wanted }) => wanted as NodeSpec);
    if (specs.some(({ cluster }) => cluster?.leader !== undefined)) await handOver(world, stage, rolled.phase);
    else stage.members.lead(specs.find((spec) => simulateMember(spec).group?.role === "secondary") as NodeSpec);
  }
  await stage.report();
  return rolled;
}

async function handOver(world: World, stage: Stage, phase: string): Promise<void> {
  const operationId = await stage.operation();
  expect(await world.activities.wantLead(operationId, phase)).toMatchObject({ state: "wanted" });
  await stage.report();
  await world.activities.endLead(operationId, phase);
}

/** All of them. Returns what was done about each, in its order. */
async function roll(world: World, stage: Stage): Promise<string[]> {
  expect(await world.activities.wantChange(await stage.operation())).toBe("one by one");
  return rollOn(world, stage);
}
async function rollOn(world: World, stage: Stage): Promise<string[]> {
  const steps: string[] = [];
  while (steps.at(-1) !== "settle" && steps.length < 20) steps.push((await step(world, stage)).next);
  return steps;
}

/** Another change of the database, which is none of its nodes' size or image. */
async function reset(world: World, stage: Stage): Promise<void> {
  await stage.alice.post(`${stage.database.url}/credentials/reset`);
  await world.activities.wantChange(await stage.operation());
  await stage.report();
  await world.activities.settleChange(await stage.operation(), { done: true });
}

test("a patch takes the secondaries by their ordinals, then another leads, then the old primary", async () => {
  await using world = await newWorld();
  const stage = await staged(world);

  expect(await stage.patch()).toMatchObject({ status: 200 });
  const steps = await roll(world, stage);

  expect(steps).toEqual(["wait", "wait", "switch", "wait", "settle"]);
  expect(stage.members.restarted()).toEqual([1, 2, 0]);
  expect(stage.members.careless()).toEqual([]);
  expect(await stage.row()).toMatchObject({ status: "active", image: NEWER, patch_due_at: null });
  expect((await world.events()).at(-1)).toMatchObject({ action: "database_update", status: "finished" });
});

test("an asynchronous cluster takes its followers, then another leads in a higher term, then the old one", async () => {
  await using world = await newWorld();
  const stage = await staged(world, undefined, { replication_type: "asynch" });
  await stage.patch();

  expect(await roll(world, stage)).toEqual(["wait", "wait", "switch", "wait", "settle"]);

  expect(stage.members.restarted()).toEqual([1, 2, 0]);
  expect(stage.members.careless()).toEqual([]);
  expect(await stage.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} c`));
  const [, leader] = (await stage.nodes()).map(({ id }) => ({ node: id, term: 2, over: "fence" }));
  expect((await stage.nodes()).map(({ wanted }) => wanted?.cluster?.leader)).toEqual([leader, leader, leader]);
});

test("given up while another is to lead, an asynchronous cluster is led by the one before again", async () => {
  await using world = await newWorld();
  const stage = await staged(world, undefined, { replication_type: "asynch" });
  await stage.patch();
  const id = await stage.operation();
  await world.activities.wantChange(id);
  await step(world, stage);
  await step(world, stage);
  expect(await world.activities.rollOn(id)).toMatchObject({ next: "switch", phase: "switch 1" });
  await world.activities.wantLead(id, "switch 1");

  await world.expire.patchDatabase(id);

  const [first, second] = (await stage.nodes()).map(({ id: node }) => node);
  const leader = { node: first, term: 3, over: "hand", from: second };
  expect((await stage.nodes()).map(({ wanted }) => wanted?.cluster?.leader)).toEqual([leader, leader, leader]);
  expect(await stage.versions()).toEqual([`${CLUSTER_PLAN} a`, `${CLUSTER_PLAN} c`, `${CLUSTER_PLAN} c`]);
});

test("a resize takes the room on all three hosts before the first node, and gives every node its size", async () => {
  await using world = await newWorld();
  const stage = await staged(world);
  await stage.resize();

  expect(await world.activities.wantChange(await stage.operation())).toBe("one by one");
  for (const { id } of stage.hosts)
    expect(await world.hostRow(id)).toMatchObject({ reserved_memory_mb: 4096, reserved_disk_mb: 40_960 });
  expect(await stage.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} a`));
  await rollOn(world, stage);

  expect(await stage.versions()).toEqual(Array(3).fill(`${LARGE.id} a`));
  for (const node of await stage.nodes())
    expect(node).toMatchObject({ memory_mb: 4096, disk_mb: 40_960, wanted: { resources: { disk_mb: 40_960 } } });
  expect(await stage.row()).toMatchObject({ status: "active", plan: LARGE.id });
  expect(stage.members.careless()).toEqual([]);
});

test("no room on one of the hosts: nothing is reserved on any, and no node hears of it", async () => {
  await using world = await newWorld();
  const stage = await staged(world);
  await world.db
    .updateTable("hosts")
    .set({ disk_mb: LARGE.disk_mb - 1 })
    .where("id", "=", stage.hosts[2]?.id as number)
    .execute();
  await stage.resize();

  expect(await world.activities.wantChange(await stage.operation())).toBe("no room");
  for (const { id } of stage.hosts) expect(await world.hostRow(id)).toMatchObject({ reserved_disk_mb: 20_480 });
  await world.activities.settleChange(await stage.operation(), { done: false });
  expect(await stage.row()).toMatchObject({ status: "active", plan: CLUSTER_PLAN });
});

const failures = [
  { at: "the first secondary", ordinal: 1, restarted: [1, 1] },
  { at: "the second secondary", ordinal: 2, restarted: [1, 2, 2, 1] },
  // Another leads by then, and has the change too: it gives up the lead before it goes back.
  { at: "the old primary", ordinal: 0, restarted: [1, 2, 0, 0, 2, 1] },
];
test.each(failures)(
  "$at fails: it is mended first, and the others go back as carefully",
  async ({ ordinal, restarted }) => {
    await using world = await newWorld();
    const fails = ({ ordinal: own, database }: NodeSpec): string | undefined =>
      own === ordinal && database.plan === LARGE.id ? "it is broken" : undefined;
    const stage = await staged(world, fails);
    const { memory_mb, disk_mb } = await world.account(stage.alice.accountId);
    await stage.resize();

    await roll(world, stage);

    expect(stage.members.restarted()).toEqual(restarted);
    expect(stage.members.careless()).toEqual([]);
    expect(await stage.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} a`));
    expect(await stage.row()).toMatchObject({ status: "active", plan: CLUSTER_PLAN });
    expect(await world.account(stage.alice.accountId)).toMatchObject({ memory_mb, disk_mb });
    for (const { id } of stage.hosts)
      expect(await world.hostRow(id)).toMatchObject({ reserved_memory_mb: 2048, reserved_disk_mb: 20_480 });
    expect((await world.events()).at(-1)).toMatchObject({
      ...{ status: "failed", message: expect.stringContaining("keeps the type that it had: it is broken") },
    });
  },
);

test("with fewer than three healthy nobody is told anything; at the end of the time nothing has changed", async () => {
  await using world = await newWorld();
  const stage = await staged(world, ({ ordinal }) => (ordinal === 2 ? "its disk is gone" : undefined));
  await stage.resize();
  await world.activities.wantChange(await stage.operation());

  for (let times = 0; times < 3; times++) expect(await step(world, stage)).toEqual({ next: "wait" });
  expect(await stage.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} a`));
  world.time.now = (await world.lastOperation()).deadline_at;

  expect(await rollOn(world, stage)).toEqual(["settle"]);
  expect((await world.events()).at(-1)).toMatchObject({ message: expect.stringContaining("not all of its nodes") });
  expect(await stage.row()).toMatchObject({ status: "active", plan: CLUSTER_PLAN });
});

test("a node that is silent has its share of the time, then all go back", async () => {
  await using world = await newWorld();
  const stage = await staged(world);
  await stage.resize();
  const operation = await world.lastOperation();
  await world.activities.wantChange(operation.id);
  await world.activities.rollOn(operation.id);
  const share = (operation.deadline_at.getTime() - operation.created_at.getTime()) / 4;
  world.time.now = new Date(operation.created_at.getTime() + share - 1);
  expect(await world.activities.rollOn(operation.id)).toEqual({ next: "wait" });

  world.time.now = new Date(operation.created_at.getTime() + share);
  await world.activities.rollOn(operation.id);

  expect(await stage.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} a`));
  expect((await world.lastOperation()).deadline_at).toEqual(new Date(world.time.now.getTime() + 4 * share));
  await stage.report();
  expect(await rollOn(world, stage)).toEqual(["settle"]);
  expect((await world.events()).at(-1)).toMatchObject({
    message: expect.stringContaining("did not confirm it in time"),
  });
});

test("said twice, and at once, a step is one step", async () => {
  await using world = await newWorld();
  const stage = await staged(world);
  await stage.patch();
  const id = await stage.operation();

  await Promise.all([world.activities.wantChange(id), world.activities.wantChange(id)]);
  await Promise.all([world.activities.rollOn(id), world.activities.rollOn(id), world.activities.rollOn(id)]);

  expect(await stage.versions()).toEqual([`${CLUSTER_PLAN} a`, `${CLUSTER_PLAN} c`, `${CLUSTER_PLAN} a`]);
  await stage.report();
  await rollOn(world, stage);
  expect(await world.activities.rollOn(id)).toEqual({ next: "ended" });
  expect(stage.members.restarted()).toEqual([1, 2, 0]);
});

test("a failover in the middle: whoever leads then is the last, without a switchover that nobody needs", async () => {
  await using world = await newWorld();
  const stage = await staged(world);
  await stage.patch();
  await world.activities.wantChange(await stage.operation());
  await step(world, stage);
  stage.members.lead((await stage.nodes())[1]?.wanted as NodeSpec);
  await stage.report();

  expect(await rollOn(world, stage)).toEqual(["wait", "wait", "settle"]);
  expect(stage.members.restarted()).toEqual([1, 0, 2]);
  expect(stage.members.careless()).toEqual([]);
});

test.each([
  {
    name: "a patch goes on in the next window",
    ask: "patch",
    left: [`${CLUSTER_PLAN} a`, `${CLUSTER_PLAN} c`, `${CLUSTER_PLAN} c`],
  },
  { name: "a resize goes back", ask: "resize", left: Array(3).fill(`${CLUSTER_PLAN} a`) },
] as const)("nobody else can lead until the time is over: $name", async ({ ask, left }) => {
  await using world = await newWorld();
  const stage = await staged(world);
  await stage[ask]();
  const id = await stage.operation();
  await world.activities.wantChange(id);
  await step(world, stage);
  await step(world, stage);
  for (let times = 0; times < 2; times++)
    expect(await world.activities.rollOn(id)).toMatchObject({ next: "switch", phase: "switch 1" });

  world.time.now = (await world.lastOperation()).deadline_at;
  await rollOn(world, stage);

  expect(await stage.versions()).toEqual(left);
  expect(stage.members.careless()).toEqual([]);
  expect(await stage.row()).toMatchObject({ status: "active", plan: CLUSTER_PLAN, image: MADE_WITH });
});

test("a window that ends in the middle: after the node whose turn it is; it goes on in the next one", async () => {
  await using world = await newWorld();
  const stage = await staged(world);
  world.time.now = new Date(`${SUNDAY}T22:48:00Z`);
  await world.patchChore();
  await world.activities.wantChange(await stage.operation());
  expect((await world.lastOperation()).deadline_at).toEqual(new Date(`${SUNDAY}T23:00:00Z`));
  await world.activities.rollOn(await stage.operation());
  world.time.now = new Date(`${SUNDAY}T22:58:00Z`);
  await stage.report();

  expect(await rollOn(world, stage)).toEqual(["settle"]);

  expect(await stage.versions()).toEqual([`${CLUSTER_PLAN} a`, `${CLUSTER_PLAN} c`, `${CLUSTER_PLAN} a`]);
  expect((await world.events()).at(-1)).toMatchObject({
    status: "failed",
    message: expect.stringContaining("1 of its 3 nodes have it; it goes on in the next maintenance window"),
  });
  expect((await stage.alice.get(stage.database.url)).body).toMatchObject({
    status: "active",
    updates: { pending: [{ planned_for: "2026-11-29T20:00:00" }] },
  });
  world.time.now = new Date("2026-11-29T20:00:00Z");
  await world.patchChore();
  await roll(world, stage);
  expect(stage.members.restarted()).toEqual([1, 2, 0]);
  expect(await stage.row()).toMatchObject({ status: "active", image: NEWER, patch_due_at: null });
});

test("an image that is taken back after a patch stopped in the middle: the next window makes the nodes alike", async () => {
  await using world = await newWorld();
  const stage = await staged(world);
  await stage.patch();
  await world.activities.wantChange(await stage.operation());
  await step(world, stage);
  world.time.now = (await world.lastOperation()).deadline_at;
  await rollOn(world, stage);

  await world.operator.post(`/admin/engines/${ENGINE}/image`, { image: MADE_WITH });
  await reset(world, stage);

  expect((await stage.alice.get(stage.database.url)).body).toMatchObject({
    updates: { pending: [{ planned_for: `${SUNDAY}T20:00:00` }] },
  });
  world.time.now = new Date(`${SUNDAY}T20:00:00Z`);
  await world.patchChore();
  await roll(world, stage);
  expect(await stage.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} a`));
  expect(await stage.row()).toMatchObject({ status: "active", image: MADE_WITH, patch_due_at: null });
});

test("given up by the sweeper, no node restarts: each keeps what it has, and its room, until the next window", async () => {
  await using world = await newWorld();
  const stage = await staged(world);
  await stage.resize();
  await world.activities.wantChange(await stage.operation());
  await step(world, stage);

  await world.expire.resizeDatabase(await stage.operation());
  await reset(world, stage);

  expect(await stage.versions()).toEqual([`${CLUSTER_PLAN} a`, `${LARGE.id} a`, `${CLUSTER_PLAN} a`]);
  expect((await stage.nodes()).map(({ memory_mb }) => memory_mb)).toEqual([2048, 4096, 2048]);
  expect(await stage.row()).toMatchObject({
    ...{ status: "active", plan: CLUSTER_PLAN, patch_due_at: new Date(`${SUNDAY}T20:00:00Z`) },
  });
  world.time.now = new Date(`${SUNDAY}T20:00:00Z`);
  await world.patchChore();
  await roll(world, stage);
  expect(await stage.versions()).toEqual(Array(3).fill(`${CLUSTER_PLAN} c`));
  expect((await stage.nodes()).map(({ memory_mb }) => memory_mb)).toEqual([2048, 2048, 2048]);
});

test("a list or a password is wanted of all at once, and each node keeps the image that it has", async () => {
  await using world = await newWorld();
  const stage = await staged(world);
  await stage.patch();
  await world.activities.wantChange(await stage.operation());
  await step(world, stage);
  world.time.now = (await world.lastOperation()).deadline_at;
  await rollOn(world, stage);
  const apart = await stage.versions();

  await stage.alice.put(stage.database.url, { allow_list: ["203.0.113.9"] });
  await world.activities.wantAllowList(await stage.operation());
  await stage.report();
  await world.activities.settleUpdate(await stage.operation(), { done: true });
  await stage.alice.post(`${stage.database.url}/credentials/reset`);
  expect(await world.activities.wantChange(await stage.operation())).toBe("wanted");

  expect(await stage.versions()).toEqual(apart);
  for (const { wanted } of await stage.nodes())
    expect(wanted).toMatchObject({ credentials: { version: 2 }, database: { allow_list: ["203.0.113.9"] } });
  expect(stage.members.restarted()).toEqual([1]);
});
