import type { NodeSpec } from "@moorage/contract/agent";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { activeCluster, reportMembers } from "#testing/active-database.ts";
import { hasBackup, later, timelinesOf } from "#testing/archive-records.ts";
import { fencePrimary, setGtid } from "#testing/simulated-following.ts";
import { leaveGroup } from "#testing/simulated-group.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "./texts.ts";

const kinds = ["semi_synch", "asynch"] as const;

/** A cluster whose restore was requested; its first member is to restore the data. */
async function restoringCluster(world: World, replication_type: (typeof kinds)[number]) {
  const alice = await world.customer();
  const hosts = [await world.host(), await world.host(), await world.host()];
  const database = await activeCluster(world, alice, hosts, { replication_type });
  const backup = await hasBackup(world, database, "snapshot");
  const lost = new Set<number>();
  const nodes = async () => (await world.nodes()).sort((a, b) => a.ordinal - b.ordinal);
  const specs = async () => (await nodes()).map(({ desired_spec }) => desired_spec as NodeSpec);
  const here = () => hosts.filter(({ id }) => !lost.has(id));
  const report = () => reportMembers(world, here());
  const passed = async (seconds: number): Promise<void> => {
    later(world, seconds);
    for (const host of here()) await host.poll();
    await report();
    await world.run("clusterHealth");
  };
  await passed(10);
  expect(await alice.post(`${database.url}/backups/${backup.id}/restore`)).toMatchObject({ status: 200 });
  const { id } = await world.lastOperation();
  await world.activities.setRestoredTimeline(id);
  const nameOf = async (ordinal: number): Promise<string> => {
    const { host_id } = (await nodes())[ordinal] as { host_id: number };
    return hosts.find((host) => host.id === host_id)?.name as string;
  };
  return {
    alice,
    database,
    id,
    nodes,
    specs,
    report,
    passed,
    /** Nobody hears of it or of its server any more. */
    async lose(ordinal: number): Promise<void> {
      const node = (await nodes())[ordinal] as { id: string; host_id: number };
      lost.add(node.host_id);
      for (const { cluster } of await specs()) leaveGroup(cluster?.group as string, node.id);
    },
    back: async (ordinal: number) => void lost.delete((await nodes())[ordinal]?.host_id as number),
    silence: async (ordinal: number) => void lost.add((await nodes())[ordinal]?.host_id as number),
    declareDead: async (ordinal: number) =>
      expect(await world.operator.post(`/admin/hosts/${await nameOf(ordinal)}/dead`, {})).toMatchObject({
        status: 200,
      }),
    /** By ordinal: where its data come from. */
    origins: async () => (await specs()).map(({ data }) => data?.origin),
    status: async () => (await alice.get<{ status: string }>(database.url)).body.status,
    /** By ordinal, as in the specs of these members. */
    primaryIn: async (...ordinals: number[]) => {
      const [all, known] = [await nodes(), await specs()];
      return ordinals.map((ordinal) => {
        const primary = known[ordinal]?.cluster?.primary;
        return primary && { ...primary, node: all.findIndex(({ id: node }) => node === primary.node) };
      });
    },
    /** The rest of a restore whose data are on their way. */
    async finish(): Promise<void> {
      await report();
      expect(await world.activities.checkRestored(id)).toEqual({ state: "observed" });
      expect(await world.activities.recloneMembers(id)).toBe("requested");
      await report();
      expect(await world.activities.checkRecloned(id)).toEqual({ state: "observed" });
      await world.activities.endChange(id, { done: true });
    },
  };
}
type Fixture = Awaited<ReturnType<typeof restoringCluster>>;

/** The host of the member that restores the data is declared dead. */
async function killFirst(fixture: Fixture): Promise<void> {
  await fixture.lose(0);
  for (let n = 0; n < 5; n++) await fixture.passed(10);
  await fixture.declareDead(0);
  await fixture.passed(6);
}

const pending = { state: "pending" };

test.each(kinds)("%s: a restore whose host is dead is done on another one, without a person", async (kind) => {
  await using world = await newWorld();
  const fixture = await restoringCluster(world, kind);
  await killFirst(fixture);

  expect(await world.activities.checkRestored(fixture.id)).toEqual(pending);
  expect(await fixture.origins()).toEqual(["prepared", "archive", "prepared"]);
  await fixture.finish();

  expect(await world.lastOperation()).toMatchObject({ outcome: "done" });
  expect(await fixture.status()).toBe("active");
  const [old, unused, used] = await timelinesOf(world, fixture.database);
  expect(unused).toMatchObject({ ended_at: unused?.created_at, parent_id: old?.id });
  expect(used).toMatchObject({ ended_at: null, parent_id: old?.id, parent_copy_id: unused?.parent_copy_id });
  expect(await world.databaseRow(fixture.database.id)).toMatchObject({ timeline_id: used?.id });
  // The dead one is replaced.
  for (let n = 0; n < 3; n++) await fixture.passed(10);
  expect(await world.openOperations()).toEqual(["replaceNode"]);
});

test.each(kinds)("%s: a restore moves from a host that was silent for a minute", async (kind) => {
  await using world = await newWorld();
  const fixture = await restoringCluster(world, kind);
  await fixture.lose(0);
  for (let n = 0; n < 5; n++) await fixture.passed(10);
  expect(await world.activities.checkRestored(fixture.id)).toEqual(pending);
  expect(await fixture.origins()).toEqual(["archive", "prepared", "prepared"]);

  await fixture.passed(10);
  await world.activities.checkRestored(fixture.id);

  expect(await fixture.origins()).toEqual(["prepared", "archive", "prepared"]);
  await fixture.finish();
  expect(await fixture.status()).toBe("active");
});

test.each(kinds)("%s: a restore stays on a silent host whose server the other members see", async (kind) => {
  await using world = await newWorld();
  const fixture = await restoringCluster(world, kind);
  await fixture.silence(0);
  for (let n = 0; n < 12; n++) await fixture.passed(10);

  expect(await world.activities.checkRestored(fixture.id)).toEqual(pending);

  expect(await fixture.origins()).toEqual(["archive", "prepared", "prepared"]);
});

test("a restore whose data only a dead host has is made again while the others clone", async () => {
  await using world = await newWorld();
  const fixture = await restoringCluster(world, "semi_synch");
  await fixture.report();
  expect(await world.activities.checkRestored(fixture.id)).toEqual({ state: "observed" });
  await world.activities.recloneMembers(fixture.id);
  await killFirst(fixture);

  expect(await world.activities.checkRecloned(fixture.id)).toEqual(pending);
  expect(await fixture.origins()).toEqual(["prepared", "archive", "prepared"]);
  await fixture.report();
  expect(await world.activities.checkRecloned(fixture.id)).toEqual(pending);
  expect(await fixture.origins()).toEqual(["prepared", "cluster", "cluster"]);
  await fixture.report();
  expect(await world.activities.checkRecloned(fixture.id)).toEqual({ state: "observed" });

  await world.activities.endChange(fixture.id, { done: true });
  expect(await fixture.status()).toBe("active");
});

test("after the loss of three hosts, one after the other, a restore ends", async () => {
  await using world = await newWorld();
  const fixture = await restoringCluster(world, "semi_synch");
  const { db } = world;
  await sql`update operations set input = input || '{"attempt": 3}' where id = ${fixture.id}`.execute(db);
  await db.updateTable("desired_phases").set({ phase: "restored 3" }).where("phase", "=", "restored").execute();
  await killFirst(fixture);

  expect(await world.activities.checkRestored(fixture.id)).toEqual({
    state: "failed",
    message: texts.hostsLost().text,
  });
});

test("while a database is restored, a dead primary is succeeded by a node that serves the previous data", async () => {
  await using world = await newWorld();
  const fixture = await restoringCluster(world, "asynch");
  const [, second, third] = await fixture.specs();
  setGtid(second as NodeSpec, "");
  await killFirst(fixture);

  expect(await fixture.primaryIn(1, 2)).toEqual([1, 2].map(() => ({ node: 1, term: 2, reason: "forced" })));
  expect((await fixture.specs())[2]?.data).toEqual(third?.data);

  await world.activities.setPreviousTimeline(fixture.id);
  await world.activities.endChange(fixture.id, { done: false });
  // It has what was written since.
  expect((await fixture.primaryIn(1, 2)).map((primary) => primary?.node)).toEqual([1, 1]);
});

test("while a database is restored, a primary whose server ended is primary again, and restores on", async () => {
  await using world = await newWorld();
  const fixture = await restoringCluster(world, "asynch");
  const [first, second] = (await fixture.specs()) as [NodeSpec, NodeSpec];
  // On the previous timeline, by which it serves meanwhile.
  fencePrimary({ ...first, cluster: { ...first.cluster, ...second.cluster } as NodeSpec["cluster"] });
  await fixture.passed(12);

  expect(await fixture.primaryIn(0, 1, 2)).toEqual([0, 1, 2].map(() => ({ node: 0, term: 2, reason: "fenced" })));
  await world.activities.checkRestored(fixture.id);
  expect(await fixture.origins()).toEqual(["archive", "prepared", "prepared"]);
});

test("a node that a tenant promotes over a silent primary restores the data, and stays primary if that fails", async () => {
  await using world = await newWorld();
  const fixture = await restoringCluster(world, "asynch");
  await fixture.lose(0);
  for (let n = 0; n < 4; n++) await fixture.passed(10);
  const promotion = await fixture.alice.post(`${fixture.database.url}/promote`, { accept_loss: true });
  expect(promotion.status).toBe(200);
  expect((await fixture.primaryIn(2))[0]).toMatchObject({ node: 1, term: 2, reason: "forced" });

  await fixture.passed(6);
  await world.activities.checkRestored(fixture.id);
  expect(await fixture.origins()).toEqual(["prepared", "archive", "prepared"]);

  await world.activities.endChange(fixture.id, { done: false });
  expect((await fixture.primaryIn(1, 2)).map((primary) => primary?.node)).toEqual([1, 1]);
});

test("a member that is to run restored data is not promoted on the previous data", async () => {
  await using world = await newWorld();
  const fixture = await restoringCluster(world, "asynch");
  await fixture.lose(0);
  for (let n = 0; n < 4; n++) await fixture.passed(10);
  expect((await fixture.alice.post(`${fixture.database.url}/promote`, { accept_loss: true })).status).toBe(200);
  const [first, second] = (await fixture.specs()) as [NodeSpec, NodeSpec];
  await fixture.back(0);
  setGtid(first, `${second.node}:1-9`);
  await fixture.lose(1);
  for (let n = 0; n < 5; n++) await fixture.passed(10);
  await fixture.declareDead(1);

  await fixture.passed(6);

  expect((await fixture.primaryIn(2))[0]).toMatchObject({ node: 2, term: 3, reason: "forced" });
});
