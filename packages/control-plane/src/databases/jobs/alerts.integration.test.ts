import type { MysqlDatabase } from "@moorage/contract";
import type { DiskState } from "@moorage/contract/agent";
import { expect, test } from "vitest";
import { activeDatabase } from "#testing/active-database.ts";
import { startGateway } from "#testing/gateway.ts";
import { simulateAgent } from "#testing/simulated-agent.ts";
import { newWorld, type World } from "#testing/world.ts";
import { createAlertsJob } from "./alerts-job.ts";
import { texts } from "../model/texts.ts";

type Notifications = { data: { severity: string; label: string; entity: { id: number } }[] };

async function createFixture(world: World, disk: { state: DiskState; usedMb?: number }) {
  const gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  const agent = simulateAgent(gateway, host, () => ({ disk: disk.state, used_disk_mb: disk.usedMb ?? 900 }));
  await agent.poll();
  const alice = await world.customer();
  const { body } = await alice.create();
  const operation = await world.lastOperation();
  await world.activities.setDesiredNodes(operation.id);
  await agent.poll();
  await world.activities.endChange(operation.id, { done: true });
  const judge = createAlertsJob(world);
  return {
    alice,
    database: body,
    gateway,
    /** The host reports its disk, and the worker turns it into an alert. */
    async reportDisk(state: DiskState) {
      disk.state = state;
      await agent.poll();
      await Promise.all([judge(), judge()]);
    },
    notifications: async () => (await alice.get<Notifications>("/v4/account/notifications")).body.data,
    events: async () =>
      (await world.events()).filter(({ action }) => action === "database_low_disk_space").map(({ status }) => status),
  };
}

test("a filling disk is announced once, worsens once, and is resolved when there is room", async () => {
  await using world = await newWorld();
  const { reportDisk, notifications, events, database, gateway } = await createFixture(world, { state: "ok" });
  await using _ = gateway;

  await reportDisk("ok");
  expect([await notifications(), await events()]).toEqual([[], []]);
  await reportDisk("low");
  await reportDisk("low");
  expect(await notifications()).toMatchObject([{ severity: "major", entity: { id: database.id } }]);
  const stranger = await world.customer();
  expect((await stranger.get<Notifications>("/v4/account/notifications")).body.data).toEqual([]);
  await reportDisk("read_only");
  expect(await notifications()).toMatchObject([{ severity: "critical", label: texts.diskFullTitle().text }]);
  await reportDisk("ok");
  expect(await notifications()).toEqual([]);
  expect((await events()).toSorted()).toEqual(["finished", "notification", "notification"]);
});

test("a disk whose last writes went into its reserve is shown as full, not as more than full", async () => {
  await using world = await newWorld();
  const { reportDisk, alice, database, gateway } = await createFixture(world, { state: "ok", usedMb: 1_000_000 });
  await using _ = gateway;
  await reportDisk("read_only");

  const { body } = await alice.get<MysqlDatabase>(`/v4/databases/mysql/instances/${database.id}`);
  expect(body.used_disk_size_gb).toBe(body.total_disk_size_gb);
});

test("deleting a database removes its notifications, and later alerts about it notify nobody", async () => {
  await using world = await newWorld();
  const { reportDisk, alice, database, notifications, gateway } = await createFixture(world, { state: "ok" });
  await using _ = gateway;
  await reportDisk("low");

  await alice.delete(`/v4/databases/mysql/instances/${database.id}`);
  expect(await notifications()).toEqual([]);
  await reportDisk("read_only");
  expect(await notifications()).toEqual([]);
});

test("a restricted user without a grant on the account reads no notifications", async () => {
  await using world = await newWorld();
  const carol = await world.customer({ restricted: true });

  expect((await carol.get("/v4/account/notifications")).status).toBe(403);
});

test("a failed verification raises a notification and an event; a later success resolves it", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const database = await activeDatabase(world, alice, host);
  const [node] = await world.nodes();
  const found = (ok: boolean, message: string) =>
    world.db
      .insertInto("node_alerts")
      .values({
        account_id: alice.accountId,
        database_id: database.id,
        node_id: node?.id ?? "",
        kind: "verification",
        detail: JSON.stringify({ ok, message, point: { at: world.time.now.toISOString() } }),
        at: world.time.now,
      })
      .execute();
  const judge = createAlertsJob(world);
  const severities = async () =>
    (await alice.get<Notifications>("/v4/account/notifications")).body.data.map(({ severity }) => severity);

  await found(false, "part 3 of its newest copy is not what was stored.");
  await judge();
  expect(await severities()).toEqual(["critical"]);
  expect(await world.events()).toContainEqual(
    expect.objectContaining({ action: "database_backup_verification", status: "failed" }),
  );
  await found(true, "12 tables checked.");
  await judge();
  expect(await severities()).toEqual([]);
});
