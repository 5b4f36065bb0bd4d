import { expect, test } from "vitest";
import { watchedCluster } from "#testing/watched-cluster.ts";
import { HOST_SILENT_SECONDS, newWorld } from "#testing/world.ts";

const AWAY = { state: "away", online: 0, shared: false } as const;
const APART = { state: "offline", online: 0, shared: false, gtid: "" } as const;
const TWO = { online: 2 };

test("a cluster whose members are healthy is active, and is not checked again", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);

  await cluster.reportAll({}, {}, {});
  await cluster.after(1);

  expect([await cluster.status(), await cluster.checkAt()]).toEqual(["active", null]);
  expect(await cluster.events("database_degraded")).toEqual([]);
});

test("without a member it is degraded until the member is back, and its tenant is notified of both once", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  await cluster.reportAll(TWO, TWO, AWAY);

  await cluster.after(6);
  for (let again = 0; again < 3; again++) await cluster.after(6);
  expect(await cluster.status()).toBe("degraded");
  expect(await cluster.events("database_degraded")).toMatchObject([
    { status: "notification", username: null, message_code: "cluster.one_node_down" },
  ]);
  expect((await cluster.alice.get<{ results: number }>("/v4/account/notifications")).body.results).toBe(1);

  await cluster.reportAll({}, {}, {});
  for (let again = 0; again < 3; again++) await cluster.after(6);
  expect([await cluster.status(), await cluster.checkAt()]).toEqual(["active", null]);
  expect((await cluster.events("database_degraded")).map(({ status }) => status)).toEqual(["notification", "finished"]);
  expect((await cluster.alice.get<{ results: number }>("/v4/account/notifications")).body.results).toBe(0);
});

test("a member that is back within seconds causes no event", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  await cluster.reportAll(TWO, TWO, AWAY);

  await cluster.after(3);
  await cluster.reportAll({}, {}, {});
  await cluster.after(6);

  expect(await cluster.status()).toBe("active");
  expect(await cluster.events("database_degraded")).toEqual([]);
});

test("a node whose host is silent for too long is replaced by one operation, and not before", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  await cluster.silence(2);
  await cluster.reportAll(TWO, TWO);

  await cluster.after(31);
  expect(await cluster.status()).toBe("degraded");
  await cluster.after(HOST_SILENT_SECONDS - 60);
  expect(await world.openOperations()).toEqual([]);

  await cluster.after(60);
  for (let again = 0; again < 3; again++) await cluster.after(6);
  expect(await world.openOperations()).toEqual(["replaceNode"]);
  expect((await world.lastOperation()).input).toMatchObject({ node: (await cluster.nodes())[2]?.id });
  expect(await cluster.events("database_node_replace")).toMatchObject([{ status: "started", username: null }]);
});

test("a node that only the control plane cannot reach is not replaced while its group counts it", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  await cluster.silence(2);
  await cluster.reportAll({}, {});

  await cluster.after(HOST_SILENT_SECONDS + 60);
  await cluster.after(60);

  expect([await cluster.status(), await world.openOperations()]).toEqual(["degraded", []]);
});

test("an outage of the control plane does not count as silence of the hosts", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  await cluster.silence(2);
  world.time.now = new Date(world.time.now.getTime() + 3_600_000);
  const { createHealthJob } = await import("#databases/index.ts");
  const { db, clock, eachDue } = world;
  const restarted = createHealthJob({
    db,
    clock,
    eachDue,
    hostSilentSeconds: HOST_SILENT_SECONDS,
    replacementsPerRegion: 20,
    silentHostsPercent: 30,
    changeDeadlineSeconds: 900,
    restoreDeadlineSeconds: 900,
  });
  await cluster.reportAll(TWO, TWO);
  for (const ordinal of [0, 1]) await (await cluster.hostOf(ordinal)).poll();

  await restarted();

  expect(await world.openOperations()).toEqual([]);
});

test("with two lost members the message states that writes are stopped, and nothing is replaced", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  await cluster.silence(1);
  await cluster.silence(2);
  await cluster.reportMember(0, { online: 1, shared: false });

  await cluster.after(HOST_SILENT_SECONDS + 1);

  expect([await cluster.status(), await world.openOperations()]).toEqual(["degraded", []]);
  expect((await cluster.events("database_degraded")).at(-1)?.message_code).toBe("cluster.no_majority");
});

test("all three out of group: one operation bootstraps it, once all have reported their GTID sets", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  await cluster.reportAll(APART, APART, AWAY);
  await cluster.after(6);
  expect(await world.openOperations()).toEqual([]);

  await cluster.reportMember(2, APART);
  for (let again = 0; again < 3; again++) await cluster.after(6);
  expect(await world.openOperations()).toEqual(["bootstrapGroup"]);
});

test("with one host lost and the others out of group, a person has to decide", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  await cluster.silence(2);
  await cluster.reportAll(APART, APART);

  await cluster.after(HOST_SILENT_SECONDS + 1);

  expect(await world.openOperations()).toEqual([]);
  const { data } = (await world.operator.get<{ data: { advice: string }[] }>("/admin/databases")).body;
  expect(data[0]?.advice).toContain(
    `moorage admin host dead ${(await cluster.hostOf(2)).name}; moorage admin db bootstrap`,
  );
});

test("while a database is busy its status stays and no repair starts", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  await cluster.alice.post(`${cluster.database.url}/suspend`);
  await cluster.reportAll(TWO, TWO, AWAY);

  await cluster.after(HOST_SILENT_SECONDS);

  expect([await cluster.status(), await world.openOperations()]).toEqual(["suspending", ["suspendDatabase"]]);
  expect(await cluster.events("database_degraded")).toEqual([]);
});

test("a deleted database is not checked", async () => {
  await using world = await newWorld();
  const cluster = await watchedCluster(world);
  await cluster.alice.delete(cluster.database.url);
  await cluster.reportAll(AWAY, AWAY, AWAY);

  await cluster.after(HOST_SILENT_SECONDS);

  expect(await cluster.checkAt()).toBeNull();
  expect(await cluster.events("database_degraded")).toEqual([]);
});
