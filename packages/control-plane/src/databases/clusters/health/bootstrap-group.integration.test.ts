import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CLUSTER_PLAN, INSTANCES, offerClusterPlan } from "#testing/active-database.ts";
import { pollingAgents } from "#testing/cluster-on-agents.ts";
import { until } from "#testing/database-on-agent.ts";
import { repairedCluster } from "#testing/repaired-cluster.ts";
import { leaveGroup, simulateMember } from "#testing/simulated-group.ts";
import { startTemporal, type Temporal } from "#testing/temporal.ts";
import { ENGINE, newWorld, type World } from "#testing/world.ts";
import { texts } from "../texts.ts";

let temporal: Temporal;
beforeAll(async () => {
  temporal = await startTemporal();
});
afterAll(() => temporal[Symbol.asyncDispose]());

/** Members that report their GTID sets, recording who was permitted to bootstrap. */
function holding(last: readonly number[]) {
  const permitted = new Set<string>();
  const instead = (spec: NodeSpec, report: Partial<NodeReport>): Partial<NodeReport> => {
    if (spec.cluster?.bootstrap !== undefined) permitted.add(`${spec.ordinal} ${spec.cluster.bootstrap}`);
    if (report.group?.gtid === undefined) return report;
    return { ...report, group: { ...report.group, gtid: `${spec.cluster?.group}:1-${last[spec.ordinal]}` } };
  };
  return { instead, permitted };
}

/** Archives so many transactions of its group. */
async function isArchived(world: World, last: number): Promise<void> {
  const { account_id, id } = await world.db.selectFrom("timelines").selectAll().executeTakeFirstOrThrow();
  const log = { account_id, timeline_id: id, sequence: 1, name: "binlog.000001.0123456789abcdef", bytes: 1 };
  await world.db
    .insertInto("binary_logs")
    .values({ ...log, closed_at: world.time.now, gtid: `${id}:1-${last}`, sha256: "a".repeat(64) })
    .execute();
  await world.db.updateTable("timelines").set({ last_log: 1 }).execute();
}

const all = [0, 1, 2];
const eventOf = async (world: World) => (await world.events()).find(({ action }) => action === "database_group_form");

test("all three lost at once: the most advanced bootstraps once, and no permission is left", async () => {
  const { instead, permitted } = holding([5, 9, 7]);
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3, instead });
  permitted.clear();
  await cluster.leave(...all);
  await cluster.untilCounted(0, all);

  await cluster.checkAfter(6, all);
  expect(await cluster.status()).toBe("degraded");
  await cluster.untilEnded("bootstrapGroup");
  await cluster.untilCounted(3, all);
  await cluster.checkAfter(6, all);

  expect([...permitted].map((each) => each.split(" ")[0])).toEqual(["1"]);
  expect((await cluster.specs()).map(({ cluster: desired }) => desired?.bootstrap)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(await cluster.status()).toBe("active");
  expect(await eventOf(world)).toMatchObject({ status: "finished" });
});

test("a group whose members are all apart during a rolling change is bootstrapped, and the change continues", async () => {
  const { instead, permitted } = holding([5, 9, 7]);
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3, instead });
  await world.operator.post(`/admin/engines/${ENGINE}/image`, { image: "c".repeat(64) });
  permitted.clear();
  await cluster.leave(...all);
  await cluster.untilCounted(0, all);

  expect(await cluster.alice.post(`${cluster.database.url}/patch`)).toMatchObject({ status: 200 });
  await cluster.untilEnded("patchDatabase");

  expect([...permitted].map((each) => each.split(" ")[0])).toEqual(["1"]);
  expect(await world.lastOperation()).toMatchObject({ kind: "patchDatabase", outcome: "done" });
  expect((await cluster.specs()).map(({ engine }) => engine.image[0])).toEqual(["c", "c", "c"]);
  expect(await cluster.status()).toBe("active");
});

test("another member may bootstrap if the first dies before it is joined", async () => {
  const { instead, permitted } = holding([1, 0, 0]);
  const died: string[] = [];
  const dyingOnce = (spec: NodeSpec): Partial<NodeReport> => {
    const report = instead(spec, simulateMember(spec));
    if (died.length > 0 || report.group?.bootstrapped === undefined) return report;
    died.push(spec.node);
    leaveGroup(spec.cluster?.group as string, spec.node);
    return instead(spec, simulateMember(spec));
  };
  await using world = await newWorld();
  await using hosts = await pollingAgents(world, 3, dyingOnce);
  await offerClusterPlan(world);
  const alice = await world.customer();
  await hosts.poll();
  await hosts.work(temporal, { publishDnsRecords: async () => {} });

  const { body } = await alice.create({ type: CLUSTER_PLAN, cluster_size: 3 });
  await until(async () => (await world.lastOperation()).settled_at !== null);

  expect(died.length).toBe(1);
  expect(permitted.size).toBe(2);
  expect((await alice.get(`${INSTANCES}/${body.id}`)).body).toMatchObject({ status: "active" });
});

test("nobody may bootstrap before all have confirmed the withdrawal", async () => {
  const { instead, permitted } = holding([5, 5, 5]);
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3, instead });
  permitted.clear();
  await cluster.leave(...all);
  await cluster.untilCounted(0, all);
  const speakAgain = await cluster.mute(2);
  await cluster.checkAfter(6, [0, 1]);
  const withdrawn = async (ordinal: number): Promise<boolean> => {
    const node = await cluster.nodeAt(ordinal);
    const { id, kind } = await world.lastOperation();
    return (
      kind === "bootstrapGroup" &&
      node.waiting_operation_id === id &&
      node.observed_generation >= node.desired_generation
    );
  };
  await until(async () => (await withdrawn(0)) && (await withdrawn(1)));

  const { id } = await world.lastOperation();
  expect(await world.activities.advanceBootstrap(id)).toEqual({ next: "wait" });
  expect(permitted.size).toBe(0);

  await speakAgain();
  await until(async () => permitted.size === 1);
});

test("a member that turns out to be in a group ends the orders to stay out, and only its group's end brings them back", async () => {
  const { instead, permitted } = holding([5, 5, 5]);
  let isIn = true;
  const oneIsIn = (spec: NodeSpec, report: Partial<NodeReport>): Partial<NodeReport> =>
    isIn && spec.cluster?.stay_out === true && spec.ordinal === 2
      ? { ...report, group: { state: "online", online: 1, shared: false } }
      : instead(spec, report);
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3, instead: oneIsIn });
  permitted.clear();
  await cluster.leave(...all);
  await cluster.untilCounted(0, all);
  await cluster.checkAfter(6, all);
  const phases = async (): Promise<string[]> =>
    (await world.db.selectFrom("desired_phases").select("phase").execute()).map(({ phase }) => phase);

  await until(async () => (await phases()).includes("release 1"));
  expect(permitted.size).toBe(0);
  isIn = false;
  await cluster.untilEnded("bootstrapGroup");

  expect(await phases()).toEqual(expect.arrayContaining(["withdraw 1", "release 1", "withdraw 2", "bootstrap 1"]));
  expect(permitted.size).toBe(1);
  expect((await cluster.specs()).map(({ cluster: desired }) => desired?.stay_out)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("nobody may bootstrap on a look at a member that was made before its permission was withdrawn", async () => {
  const { instead, permitted } = holding([5, 5, 5]);
  let isStale = true;
  const lookedBefore = (spec: NodeSpec, report: Partial<NodeReport>): Partial<NodeReport> => {
    const { group, ...rest } = instead(spec, report);
    const { epoch, generation } = spec;
    const seen_by = { epoch, generation: isStale && spec.ordinal === 2 ? generation - 1 : generation };
    return { ...rest, ...(group && { group: { ...group, seen_by } }) };
  };
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3, instead: lookedBefore });
  permitted.clear();
  await cluster.leave(...all);
  await cluster.untilCounted(0, all);
  await cluster.checkAfter(6, all);
  await until(async () => {
    const nodes = await cluster.nodes();
    const { id } = await world.lastOperation();
    return nodes.every(
      (node) => node.waiting_operation_id === id && node.observed_generation >= node.desired_generation,
    );
  });

  expect(await world.activities.advanceBootstrap((await world.lastOperation()).id)).toEqual({ next: "wait" });
  expect(permitted.size).toBe(0);

  isStale = false;
  await until(async () => permitted.size === 1);
});

test("each lacks what another has: nobody bootstraps, and its tenant learns who decides", async () => {
  const { instead, permitted } = holding([5, 5, 5]);
  const errant = (spec: NodeSpec, report: Partial<NodeReport>): Partial<NodeReport> => {
    const { group, ...rest } = instead(spec, report);
    if (group === undefined) return rest;
    if (group.gtid === undefined) return { ...rest, group };
    return { ...rest, group: { ...group, gtid: `${group.gtid},7c2a1d0e-0000-4000-8000-00000000000${spec.ordinal}:1` } };
  };
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3, instead: errant });
  permitted.clear();
  await cluster.leave(...all);
  await cluster.untilCounted(0, all);
  await cluster.checkAfter(6, all);
  await cluster.untilEnded("bootstrapGroup");

  expect(permitted.size).toBe(0);
  expect(await eventOf(world)).toMatchObject({
    status: "failed",
    message: expect.stringContaining(texts.bootstrapNodesDiverged().text),
  });
});

test("bootstrapping with less than the archive needs the operator's consent, and states the loss", async () => {
  const { instead, permitted } = holding([5, 5, 5]);
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 3, instead });
  permitted.clear();
  await isArchived(world, 8);
  await cluster.leave(...all);
  await cluster.untilCounted(0, all);
  await cluster.checkAfter(6, all);
  await cluster.untilEnded("bootstrapGroup");
  expect(permitted.size).toBe(0);
  expect(await eventOf(world)).toMatchObject({
    status: "failed",
    message: expect.stringContaining(texts.bootstrapBackupsAhead({ leftOut: 3 }).text),
  });

  await world.operator.post(`/admin/databases/${cluster.database.id}/bootstrap`, { accept_loss: true });
  await cluster.untilEnded("bootstrapGroup");
  expect(permitted.size).toBe(1);
  expect(await world.lastOperation()).toMatchObject({
    outcome: "done",
    message: expect.stringContaining("without 3 transactions that its backups have"),
    message_code: "archive.transactions_left_out",
  });
});

test("with two dead hosts one member bootstraps alone, and both others are replaced without their hosts", async () => {
  const { instead } = holding([9, 5, 5]);
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 5, instead });
  const gone = [await cluster.lose(1), await cluster.lose(2)].map(({ node }) => node.host_id);
  await cluster.leave(0);
  await cluster.untilCounted(0, [0]);
  await cluster.checkAfter(31, [0]);
  for (const host of gone) await world.operator.post(`/admin/hosts/${(await world.hostRow(host)).name}/dead`, {});
  await world.operator.post(`/admin/databases/${cluster.database.id}/bootstrap`, { accept_loss: true });
  await cluster.untilEnded("bootstrapGroup");

  for (const reachable of [[0], [0, 1]]) {
    await cluster.untilCounted(reachable.length, reachable);
    await cluster.checkAfter(6, reachable);
    await cluster.untilEnded("replaceNode");
  }
  await cluster.untilCounted(3, all);
  expect((await cluster.nodes()).filter(({ host_id }) => gone.includes(host_id))).toEqual([]);
});

test("with a dead host the operator accepts the loss, and the others bootstrap without it", async () => {
  const { instead, permitted } = holding([5, 7, 9]);
  await using world = await newWorld();
  await using cluster = await repairedCluster(world, temporal, { hosts: 4, instead });
  permitted.clear();
  const { node } = await cluster.lose(2);
  await cluster.leave(0, 1);
  await cluster.untilCounted(0, [0, 1]);
  await cluster.checkAfter(31, [0, 1]);
  const bootstrap = (body: object) => world.operator.post(`/admin/databases/${cluster.database.id}/bootstrap`, body);
  const { name } = await world.hostRow(node.host_id);

  const refusals = [await bootstrap({}), await bootstrap({ accept_loss: true })];
  expect(refusals).toMatchObject([
    { status: 400, body: { errors: [{ reason: texts.bootstrapLossNotAccepted({ hosts: [name] }).text }] } },
    { status: 400, body: { errors: [{ reason: texts.bootstrapHostsNotDead({ hosts: [name] }).text }] } },
  ]);
  await world.operator.post(`/admin/hosts/${name}/dead`, {});
  expect(await bootstrap({ accept_loss: true })).toMatchObject({ status: 200 });
  await cluster.untilEnded("bootstrapGroup");

  expect([...permitted].map((each) => each.split(" ")[0])).toEqual(["1"]);
  // Then it is repaired like any other.
  await cluster.untilCounted(2, [0, 1]);
  await cluster.checkAfter(6, [0, 1]);
  await cluster.untilEnded("replaceNode");
});
