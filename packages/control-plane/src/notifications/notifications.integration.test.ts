import { type Notification, toTimestamp } from "@moorage/contract";
import { expect, test } from "vitest";
import { ENGINE, newWorld, REGION, type World } from "#testing/world.ts";
import { type Notice, raise, resolve } from "./notification-store.ts";
import { texts } from "./texts.ts";

const NOTIFICATIONS = "/v4/account/notifications";
type NotificationPage = { data: Notification[]; results: number };
type Reader = Awaited<ReturnType<World["customer"]>>;

const notificationsOf = async (person: Reader): Promise<Notification[]> =>
  (await person.get<NotificationPage>(NOTIFICATIONS)).body.data;
const outage = (world: World, message: string | null, region = REGION) =>
  world.operator.post(`/admin/regions/${region}/outage`, { message });

const noticeOf = (type: string, message: string): Notice => ({
  type,
  severity: "major",
  label: { code: "notification.test", text: "Test" },
  message: { code: "notification.test", text: message },
  body: null,
});

/** A restricted user who may read the account. */
async function accountant(world: World, { accountId }: Reader) {
  const clerk = await world.colleague(accountId, { restricted: true });
  const grants = `/admin/accounts/${accountId}/users/${clerk.username}/grants`;
  await world.operator.post(grants, { global: { account_read: true } });
  return { ...clerk, grant: (change: object) => world.operator.post(grants, change) };
}

test("an outage is shown to accounts with an entity in the region, for as long as it lasts", async () => {
  await using world = await newWorld();
  await world.operator.post("/admin/regions", { id: "us-east", label: "Newark", country: "us" });
  const [withDatabase, withCompute, elsewhere] = [
    await world.customer(),
    await world.customer(),
    await world.customer(),
  ];
  await withDatabase.create();
  await world.compute(withCompute.accountId);
  await world.compute(elsewhere.accountId, { region: "us-east" });
  const since = toTimestamp(world.time.now);

  expect(await outage(world, "Power is out.")).toMatchObject({ status: 200 });
  world.time.now = new Date(world.time.now.getTime() + 60_000);
  await outage(world, "Power is back, we start hosts.");

  for (const person of [withDatabase, withCompute])
    expect(await notificationsOf(person)).toEqual([
      {
        type: "outage",
        severity: "critical",
        label: texts.outage({ region: "Frankfurt" }).text,
        message: "Power is back, we start hosts.",
        body: null,
        when: since,
        until: null,
        entity: { id: REGION, label: null, type: "region", url: `/v4/regions/${REGION}` },
      },
    ]);
  expect(await notificationsOf(elsewhere)).toEqual([]);
  expect((await world.anonymous.get(`/v4/regions/${REGION}`)).body).toMatchObject({ status: "outage" });
  expect((await world.anonymous.get("/v4/regions/us-east")).body).toMatchObject({ status: "ok" });

  await world.operator.post("/admin/regions", { id: REGION, label: "Frankfurt", country: "de" });
  expect(await notificationsOf(withDatabase)).toHaveLength(1);
  await outage(world, null);
  expect(await notificationsOf(withDatabase)).toEqual([]);
  expect((await world.anonymous.get(`/v4/regions/${REGION}`)).body).toMatchObject({ status: "ok" });
  expect((await outage(world, "x", "moon")).status).toBe(404);
  expect(await outage(world, "")).toMatchObject({ status: 400, body: { errors: [{ field: "message" }] } });
});

test("a patch that waits for its window is shown until it is applied", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { body: database } = await alice.create();
  await world.db
    .updateTable("databases")
    .set({ status: "active", image: "a".repeat(64) })
    .execute();
  expect(await notificationsOf(alice)).toEqual([]);

  await world.operator.post(`/admin/engines/${ENGINE}/image`, { image: "c".repeat(64) });
  const { patch_due_at } = await world.databaseRow(database.id);

  expect(await notificationsOf(alice)).toMatchObject([
    {
      type: "maintenance",
      severity: "minor",
      when: toTimestamp(patch_due_at as Date),
      entity: {
        id: database.id,
        label: database.label,
        type: "database",
        url: `/v4/databases/mysql/instances/${database.id}`,
      },
    },
  ]);
  await world.operator.post(`/admin/engines/${ENGINE}/image`, { image: "a".repeat(64) });
  expect(await notificationsOf(alice)).toEqual([]);
});

test("a restricted reader of the account sees notifications of the account and of what they may view", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const clerk = await accountant(world, owner);
  const { body: database } = await owner.create();
  const compute = await world.compute(owner.accountId);
  const { accountId } = owner;
  const notice = noticeOf("notice", "The disk is full.");
  const about = (type: string, id: number | null) => ({
    accountId,
    cause: "test",
    entity: { type, id, label: null, url: "/v4" },
  });
  await world.db.transaction().execute(async (tx) => {
    await raise(tx, about("account", null), notice, world.time.now);
    await raise(tx, about("database", database.id), notice, world.time.now);
  });
  await world.db.updateTable("databases").set({ patch_due_at: world.time.now }).execute();
  await world.operator.post(`/admin/computes/${compute.id}/maintenance`, {
    type: "live_migration",
    when: "2031-01-01T00:00:00",
    reason: "the host is old",
  });
  await outage(world, "Power is out.");
  const seen = async (person: Reader) =>
    (await notificationsOf(person)).map(({ entity, type }) => [entity?.type, type]);
  const ofRegion = ["region", "outage"];
  const ofAccount = ["account", "notice"];
  const ofDatabase = ["database", "notice"];
  const ofCompute = ["compute", "migration_scheduled"];
  const ofPatch = ["database", "maintenance"];

  expect(await seen(owner)).toEqual([ofRegion, ofAccount, ofDatabase, ofCompute, ofPatch]);
  expect(await seen(clerk)).toEqual([ofAccount]);
  await clerk.grant({ compute: [{ id: compute.id, permissions: "read_only" }] });
  expect(await seen(clerk)).toEqual([ofRegion, ofAccount, ofCompute]);
  await clerk.grant({
    compute: [{ id: compute.id, permissions: null }],
    database: [{ id: database.id, permissions: "read_only" }],
  });
  expect(await seen(clerk)).toEqual([ofRegion, ofAccount, ofDatabase, ofPatch]);
  await clerk.grant({ global: { account_read: false } });
  expect((await clerk.get(NOTIFICATIONS)).status).toBe(403);
});

test("a notification of the account has no entity id, and disappears when resolved", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const entity = { type: "account", id: null, label: null, url: "/v4/account" };
  const about = { accountId: owner.accountId, cause: "payment_due", entity };
  const notice = noticeOf("payment_due", "$5 are due.");
  const within = world.db.transaction();

  await within.execute((tx) => raise(tx, about, notice, world.time.now));
  expect(await notificationsOf(owner)).toMatchObject([{ type: "payment_due", entity }]);
  expect(await within.execute((tx) => resolve(tx, about))).toBe(true);
  expect(await within.execute((tx) => resolve(tx, about))).toBe(false);
  expect(await notificationsOf(owner)).toEqual([]);
});

test("notifications are filtered by type and entity type, also by clients' other names, and paged", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  await owner.create();
  await world.db.updateTable("databases").set({ patch_due_at: world.time.now }).execute();
  for (let n = 0; n < 30; n++) {
    const { id } = await world.compute(owner.accountId);
    await world.operator.post(`/admin/computes/${id}/maintenance`, {
      type: "reboot",
      when: "2031-01-01T00:00:00",
      reason: "a new kernel",
    });
  }
  const request = async (filter: object, query = "") => {
    const headers = { authorization: `Bearer ${owner.token}`, "x-filter": JSON.stringify(filter) };
    return (await world.send({ method: "GET", url: `${NOTIFICATIONS}${query}`, headers })).json<NotificationPage>();
  };

  expect(await request({ "entity.type": "compute" })).toMatchObject({ results: 30 });
  expect(await request({ "entity.type": "linode" })).toMatchObject({ results: 30 });
  expect(await request({ "entity.type": { "+neq": "linode" } })).toMatchObject({ data: [{ type: "maintenance" }] });
  expect(await request({ type: "maintenance" })).toMatchObject({
    results: 1,
    data: [{ entity: { type: "database" } }],
  });
  const pages = [await request({}, "?page_size=25"), await request({}, "?page_size=25&page=2")];
  const ids = pages.flatMap(({ data }) => data.map(({ entity }) => `${entity?.type} ${entity?.id}`));
  expect(new Set(ids).size).toBe(31);
});
