import { expect, test } from "vitest";
import { forTenants } from "#fleet/index.ts";
import { activeDatabase, OFFICE, databaseFixture, desiredSpec } from "#testing/active-database.ts";
import { newWorld, type World } from "#testing/world.ts";
import { createAlertsJob } from "./jobs/alerts-job.ts";
import { texts as databaseTexts } from "./model/texts.ts";

/** What a host may put into a message: host, address, path and digest. */
const MESSAGE = "volume: host-1 (10.127.0.1) cannot map /var/lib/moorage/volumes/7.img, sha256 9f86d081884c7d65";
const INTERNAL = /host-\d|10\.127\.|\/var\/|\.img|[0-9a-f]{12,}|^[a-z-]+: /;

type Texts = { data: { message: string | null; body?: string | null; label?: string }[] };

async function failOperation(world: World, host: Awaited<ReturnType<World["host"]>>, phase: string) {
  await host.report(await desiredSpec(world), "failed", { message: MESSAGE });
  const progress = await world.checkPhase((await world.lastOperation()).id, phase);
  if (progress.state !== "failed") throw new Error(`${phase} is ${progress.state}`);
  return { done: false, message: databaseTexts.hostReported(progress) };
}

test("no text that a tenant reads names a host, a path, an address or a digest", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await databaseFixture(world);
  const lastId = async () => (await world.lastOperation()).id;

  await alice.put(database.url, { allow_list: OFFICE });
  await world.activities.applyChange(await lastId());
  await world.activities.endChange(await lastId(), await failOperation(world, host, "change"));
  // And one past its deadline, with the host's last message.
  await host.report(await desiredSpec(world), "running");
  await alice.put(database.url, { allow_list: OFFICE });
  await world.activities.applyChange(await lastId());
  await host.report(await desiredSpec(world), "failed", { message: MESSAGE });
  await world.activities.endChange(await lastId(), { done: false });
  await host.report(await desiredSpec(world), "running");
  await alice.post(`${database.url}/suspend`);
  await world.activities.applyChange(await lastId());
  await world.activities.endChange(await lastId(), await failOperation(world, host, "change"));
  // One that is applied, and one that cannot be provisioned.
  await activeDatabase(world, alice, host);
  await alice.create();
  await world.activities.setDesiredNodes(await lastId());
  await world.activities.endChange(await lastId(), await failOperation(world, host, "running"));
  const [node] = await world.nodes();
  await world.db
    .insertInto("node_alerts")
    .values({
      account_id: alice.accountId,
      database_id: database.id,
      node_id: node?.id ?? "",
      kind: "verification",
      detail: JSON.stringify({ ok: false, message: MESSAGE, point: { at: world.time.now } }),
      at: world.time.now,
    })
    .execute();
  await createAlertsJob(world)();

  const events = (await alice.get<Texts>("/v4/account/events")).body.data;
  const notifications = (await alice.get<Texts>("/v4/account/notifications")).body.data;
  const texts = [...events, ...notifications].flatMap(({ message, body, label }) => [message, body, label]);
  expect(events.filter(({ message }) => message?.includes(forTenants(null))).length).toBeGreaterThan(3);
  expect(notifications).toHaveLength(1);
  expect(texts.filter((text) => text !== null && text !== undefined && INTERNAL.test(text))).toEqual([]);
});
