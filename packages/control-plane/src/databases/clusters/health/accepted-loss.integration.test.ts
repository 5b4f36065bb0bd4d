import { expect, test } from "vitest";
import { watchedCluster } from "#testing/watched-cluster.ts";
import { newWorld, type World } from "#testing/world.ts";
import { settlementOf } from "../../workflows/bootstrap-group.ts";

const LOSS = "without 4 transactions that its backups have";

/**
 * The archive has 9 transactions, and the only node whose host is not dead has 5. The operator accepted the loss, and
 * that node has the permission to bootstrap.
 */
async function permittedFixture(world: World) {
  const cluster = await watchedCluster(world, { hosts: 5 });
  const { timeline_id: timeline, account_id } = await world.databaseRow(cluster.database.id);
  const log = { account_id, timeline_id: timeline as string, sequence: 1, name: "binlog.000001.0123456789abcdef" };
  await world.db
    .insertInto("binary_logs")
    .values({ ...log, bytes: 1, closed_at: world.time.now, gtid: `${timeline}:1-9`, sha256: "a".repeat(64) })
    .execute();
  await world.db
    .updateTable("timelines")
    .set({ last_log: 1 })
    .where("id", "=", timeline as string)
    .execute();
  await cluster.silence(0);
  await cluster.silence(1);
  const reportLeft = () =>
    cluster.reportMember(2, { state: "offline", online: 0, shared: false, gtid: `${timeline}:1-5` });
  await reportLeft();
  await cluster.after(40);
  for (const ordinal of [0, 1]) {
    const { name } = await cluster.hostOf(ordinal);
    expect(await world.operator.post(`/admin/hosts/${name}/dead`, {})).toMatchObject({ status: 200 });
  }
  const accept = async () => {
    const path = `/admin/databases/${cluster.database.id}/bootstrap`;
    expect(await world.operator.post(path, { accept_loss: true })).toMatchObject({ status: 200 });
    return (await world.lastOperation()).id;
  };
  const first = await accept();
  expect(await world.activities.advanceBootstrap(first)).toEqual({ next: "wait" });
  await reportLeft();
  expect(await world.activities.advanceBootstrap(first)).toEqual({ next: "wait" });
  expect((await cluster.nodes())[2]?.desired_spec?.cluster?.bootstrap).toBeDefined();
  const bootstrapped = async (operation: number) => {
    await world.activities.advanceBootstrap(operation);
    await cluster.reportMember(2, { state: "online", role: "primary", online: 1, shared: false });
    const progress = await world.activities.advanceBootstrap(operation);
    if (progress.next === "wait") throw new Error("The bootstrap is not done.");
    await world.activities.endChange(operation, settlementOf(progress));
  };
  const reported = async () =>
    (await cluster.events("database_group_form")).map(({ status, message }) => [
      status,
      message?.includes(LOSS) ?? false,
    ]);
  return { accept, first, bootstrapped, reported };
}

test("an accepted loss is reported by the bootstrap that fails, and not again by the next one", async () => {
  await using world = await newWorld();
  const { first, accept, bootstrapped, reported } = await permittedFixture(world);

  await world.expire(first);
  expect(await reported()).toEqual([["failed", true]]);
  expect(await world.lastOperation()).toMatchObject({ message_code: "archive.failed_after_accepted_loss" });

  await bootstrapped(await accept());
  expect(await reported()).toEqual([
    ["failed", true],
    ["finished", false],
  ]);
});

test("an accepted loss that the event of its bootstrap lacks is reported by the next bootstrap", async () => {
  await using world = await newWorld();
  const { first, accept, bootstrapped, reported } = await permittedFixture(world);
  await world.expire(first);
  // As if the operation had ended without this event.
  await world.db.updateTable("archive_branches").set({ reported_at: null }).execute();

  await bootstrapped(await accept());

  expect((await reported()).at(-1)).toEqual(["finished", true]);
});
