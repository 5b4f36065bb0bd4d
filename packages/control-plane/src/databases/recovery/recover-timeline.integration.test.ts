import { toTimestamp } from "@moorage/contract";
import type { NodeReport, NodeSpec } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { activeOnAgent } from "#testing/active-database.ts";
import { copyOf } from "#testing/copy-of.ts";
import { startGateway } from "#testing/gateway.ts";
import { archivedThrough, hasBackup, later, timelinesOf } from "#testing/archive-records.ts";
import { simulateAgent } from "#testing/simulated-agent.ts";
import { newWorld, type World } from "#testing/world.ts";

/** A host, its owner's account, and the operator's recovery while the host polls. */
async function createFixture(world: World, otherwise?: (spec: NodeSpec) => Partial<NodeReport>) {
  const gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  const agent = simulateAgent(gateway, host, otherwise);
  await agent.poll();
  const alice = await world.customer();
  const recover = async (): Promise<void> => {
    let done = false;
    const command = world.operator.post("/admin/recover", { wait_seconds: 300 }).finally(() => {
      done = true;
    });
    while (!done) await agent.poll();
    expect(await command).toMatchObject({ status: 200 });
    await agent.poll();
  };
  const restore = async (database: { id: number; url: string }): Promise<number> => {
    const backup = await hasBackup(world, database);
    await alice.post(`${database.url}/backups/${backup.id}/restore`);
    const { id } = await world.lastOperation();
    await world.activities.setRestoredTimeline(id);
    await agent.poll();
    return id;
  };
  const reportLog = (spec: NodeSpec, sequence: number) =>
    gateway.post(host, "/v1/archived", {
      nodes: [
        {
          node: spec.node,
          timeline: spec.data?.timeline,
          logs: [
            {
              name: `binlog.${String(sequence).padStart(6, "0")}`,
              sequence,
              gtid: `a:1-${sequence}`,
              bytes: 1,
              closed_at: world.time.now.toISOString(),
              sha256: "e".repeat(64),
            },
          ],
        },
      ],
    });
  return {
    agent,
    alice,
    recover,
    restore,
    reportLog,
    specOnHost: () => [...agent.specs.values()][0] as NodeSpec,
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

test("an adopted database keeps its timeline, with a new key and an unknown origin", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const setBack = await copyOf(world.db);
  const database = await activeOnAgent(world, fixture.alice, fixture.agent);
  const before = fixture.specOnHost();
  await setBack();

  await fixture.recover();

  expect(await timelinesOf(world, database)).toMatchObject([
    { id: before.data?.timeline, ordinal: 0, prepared: null, parent_id: null, next_point_at: expect.anything() },
  ]);
  expect(await world.databaseRow(database.id)).toMatchObject({
    timeline_id: before.data?.timeline,
    image: before.engine.image,
  });
  const after = fixture.specOnHost();
  expect(after.archive?.recipient).toMatch(/^age1/);
  expect(after.archive?.recipient).not.toBe(before.archive?.recipient);
  // Never an empty volume in the place of a lost one: missing data must come from the archive.
  expect(after.data).toEqual({ ...before.data, origin: "archive" });
});

test("an adopted fork shows its source and the requested time", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const source = await activeOnAgent(world, fixture.alice, fixture.agent);
  later(world, 3 * 86_400);
  await archivedThrough(world, source);
  await fixture.agent.poll();
  const setBack = await copyOf(world.db);
  const restore_time = toTimestamp(new Date(world.time.now.getTime() - 3_600_000));
  const { body } = await fixture.alice.create({ fork: { source: source.id, restore_time } });
  const { id } = await world.lastOperation();
  await world.activities.shipSource(id);
  await world.activities.setDesiredNodes(id);
  await fixture.agent.poll();
  await setBack();

  await fixture.recover();

  const adopted = await fixture.alice.get(`/v4/databases/mysql/instances/${body.id}`);
  expect(adopted.body).toMatchObject({ fork: { source: source.id, restore_time } });
});

test("after a recovery the next log is accepted without those reported before; one after a gap is not", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  await activeOnAgent(world, fixture.alice, fixture.agent);
  const setBack = await copyOf(world.db);
  for (const sequence of [1, 2, 3])
    expect(await fixture.reportLog(fixture.specOnHost(), sequence)).toMatchObject({ status: 200 });
  await setBack();
  expect(await fixture.reportLog(fixture.specOnHost(), 4)).toMatchObject({ status: 400 });

  await fixture.recover();

  expect(await fixture.reportLog(fixture.specOnHost(), 4)).toMatchObject({ status: 200 });
  expect(await fixture.reportLog(fixture.specOnHost(), 6)).toMatchObject({ status: 400 });
});

test("after a recovery a base copy is ordered, because reported logs may have been forgotten", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  await activeOnAgent(world, fixture.alice, fixture.agent);
  const setBack = await copyOf(world.db);
  await fixture.reportLog(fixture.specOnHost(), 1);
  await setBack();
  await fixture.recover();

  await world.run("neededCopies");

  expect((await world.nodes())[0]?.desired_spec?.tasks).toMatchObject([{ kind: "copy" }]);
});

test("a database restored after the backup continues with the restored data", async () => {
  await using world = await newWorld();
  await using fixture = await createFixture(world);
  const database = await activeOnAgent(world, fixture.alice, fixture.agent);
  const setBack = await copyOf(world.db);
  const operation = await fixture.restore(database);
  await world.activities.endChange(operation, { done: true });
  await fixture.agent.poll();
  const restored = fixture.specOnHost().data;
  expect(restored).toMatchObject({ ordinal: 1 });
  await setBack();

  await fixture.recover();

  expect(fixture.specOnHost()).toMatchObject({ epoch: 2, data: { timeline: restored?.timeline, ordinal: 1 } });
  expect(await world.databaseRow(database.id)).toMatchObject({ timeline_id: restored?.timeline, status: "active" });
  expect(await timelinesOf(world, database)).toMatchObject([
    { ordinal: 0, ended_at: world.time.now },
    { ordinal: 1, parent_id: null, prepared: null, ended_at: null },
  ]);
});

test("a forgotten restore that was in progress on the host returns to the previous data", async () => {
  await using world = await newWorld();
  let first: string | undefined;
  await using fixture = await createFixture(world, ({ data }) =>
    data?.keep === undefined ? {} : { state: "working", percent: 50, timeline: first },
  );
  const database = await activeOnAgent(world, fixture.alice, fixture.agent);
  first = fixture.specOnHost().data?.timeline;
  const setBack = await copyOf(world.db);
  await fixture.restore(database);
  expect(fixture.specOnHost().data).toMatchObject({ ordinal: 1, keep: 0 });
  await setBack();

  await fixture.recover();

  expect(fixture.specOnHost()).toMatchObject({ epoch: 2, data: { timeline: first, ordinal: 0 } });
});
