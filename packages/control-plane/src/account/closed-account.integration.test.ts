import { expect, test } from "vitest";
import { activeDatabase, INSTANCES, desiredSpec } from "#testing/active-database.ts";
import { GOOD, addCard, later, owing } from "#testing/cancelling.ts";
import { countWaiting } from "#testing/count-waiting.ts";
import { CLOSED_ACCOUNT_DAYS, newWorld, type World } from "#testing/world.ts";
import { texts } from "./texts.ts";

type Customer = Awaited<ReturnType<World["customer"]>>;
type Host = Awaited<ReturnType<World["host"]>>;

/** Closes without the request that stops databases at once: the job has to find running ones. */
const close = (world: World, accountId: number): Promise<unknown> =>
  world.db
    .updateTable("accounts")
    .set({
      closed_at: world.time.now,
      data_until: new Date(world.time.now.getTime() + CLOSED_ACCOUNT_DAYS * 86_400_000),
    })
    .where("id", "=", accountId)
    .execute();
/** The host applies the newest change, and the worker learns of it. */
async function followed(world: World, host: Host, state: "stopped" | "running"): Promise<void> {
  const { id } = await world.lastOperation();
  await world.activities.applyChange(id);
  await host.report(await desiredSpec(world), state);
  await world.activities.endChange(id, { done: true });
}
const reopen = (world: World, accountId: number) => world.operator.post(`/admin/accounts/${accountId}/reopen`, {});
const factsOf = async (world: World) =>
  (await world.db.selectFrom("usage_facts").select(["state", "at"]).orderBy("sequence").execute()).map(
    ({ state, at }) => ({ state, at: at.toISOString() }),
  );
const newToken = async (world: World, { accountId, username }: Customer) => {
  const path = `/admin/accounts/${accountId}/users/${username}/tokens`;
  const issued = await world.operator.post<{ token: string }>(path, { label: "new", scopes: ["*"] });
  return world.as(issued.body.token);
};

test("everything that runs in a closed account is stopped, with retries", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const database = await activeDatabase(world, alice, host);
  await close(world, alice.accountId);

  await world.run("closedAccounts");
  const first = await world.lastOperation();
  expect(first).toMatchObject({ kind: "suspendDatabase", entity_id: database.id });
  await world.run("closedAccounts");
  expect((await world.lastOperation()).id).toBe(first.id);
  // The host did not return in time: the database runs again, so it is stopped again.
  await world.activities.endChange(first.id, { done: false });
  expect(await world.databaseRow(database.id)).toMatchObject({ status: "active", powered: true });
  await world.run("closedAccounts");
  expect((await world.lastOperation()).id).not.toBe(first.id);
  await followed(world, host, "stopped");

  await world.run("closedAccounts");
  expect(await world.openOperations()).toEqual([]);
  expect(await world.databaseRow(database.id)).toMatchObject({ status: "suspended", powered: false, deleted_at: null });
});

test("a database that is busy while its account closes is stopped afterwards", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const { body } = await alice.create();
  const making = await world.lastOperation();
  await world.activities.setDesiredNodes(making.id);
  await close(world, alice.accountId);

  await world.run("closedAccounts");
  expect(await world.openOperations()).toEqual(["provisionDatabase"]);
  await host.report(await desiredSpec(world), "running");
  await world.activities.endChange(making.id, { done: true });
  // A database that was ready only after the closing is not metered.
  expect(await factsOf(world)).toEqual([]);
  await world.run("closedAccounts");
  await followed(world, host, "stopped");
  expect(await world.databaseRow(body.id)).toMatchObject({ status: "suspended", powered: false });
});

test("the rest of a database that could not be created is stopped too, and stays failed", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const { body } = await alice.create();
  const making = await world.lastOperation();
  await world.activities.setDesiredNodes(making.id);
  await world.activities.endChange(making.id, { done: false, message: { code: "test.late", text: "late" } });
  await close(world, alice.accountId);

  await world.run("closedAccounts");
  await followed(world, host, "stopped");

  expect(await world.databaseRow(body.id)).toMatchObject({ status: "failed", powered: false });
  await world.run("closedAccounts");
  expect(await world.openOperations()).toEqual([]);
});

test("a database whose account is reopened at that moment keeps running", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  const database = await activeDatabase(world, alice, host);
  await close(world, alice.accountId);

  const { job } = await world.db.transaction().execute(async (tx) => {
    await tx.selectFrom("databases").select("id").where("id", "=", database.id).forUpdate().execute();
    const stopping = world.run("closedAccounts");
    await expect.poll(() => countWaiting(world)).toBe(1);
    await tx.updateTable("accounts").set({ closed_at: null, data_until: null }).execute();
    return { job: stopping };
  });
  await job;

  expect(await world.openOperations()).toEqual([]);
  expect(await world.databaseRow(database.id)).toMatchObject({ status: "active", powered: true });
});

test("databases of open accounts keep running", async () => {
  await using world = await newWorld();
  const [alice, bob, host] = [await world.customer(), await world.customer(), await world.host()];
  await activeDatabase(world, alice, host);
  await close(world, bob.accountId);

  later(world, (CLOSED_ACCOUNT_DAYS + 1) * 24);
  await world.run("closedAccounts");

  expect(await world.openOperations()).toEqual([]);
});

test("after the retention data are deleted as by a tenant, and not before", async () => {
  await using world = await newWorld({ undeleteDays: 7 });
  const [alice, host] = [await world.customer(), await world.host()];
  const database = await activeDatabase(world, alice, host);
  await close(world, alice.accountId);
  await world.run("closedAccounts");
  await followed(world, host, "stopped");

  later(world, CLOSED_ACCOUNT_DAYS * 24 - 1);
  await world.run("closedAccounts");
  expect((await world.databaseRow(database.id)).deleted_at).toBeNull();
  later(world, 1);
  await world.run("closedAccounts");

  const row = await world.databaseRow(database.id);
  expect(row.deleted_at).toEqual(world.time.now);
  expect(row.purge_at).toEqual(new Date(world.time.now.getTime() + 7 * 86_400_000));
  expect(await world.openOperations()).toEqual(["deleteDatabase"]);
  await world.run("closedAccounts");
  expect(await world.account(alice.accountId)).toMatchObject({ closed_at: expect.any(Date), data_until: null });
  expect((await world.audit()).at(-1)).toMatchObject({ action: "delete_account_data" });
  const back = await world.operator.post(`/admin/databases/${database.id}/undelete`, {});
  expect(back).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("account reopen") }] },
  });
});

test("after reopening people sign in again, databases stay suspended, and old tokens stay invalid", async () => {
  await using world = await newWorld();
  const { alice, host, database } = await owing(world);
  await addCard(alice, GOOD);
  await alice.post("/v4/account/cancel");
  await followed(world, host, "stopped");

  later(world, 24);
  expect(await reopen(world, alice.accountId)).toMatchObject({ status: 200, body: { closed: null, data_until: null } });

  expect((await alice.get("/v4/account")).status).toBe(401);
  const again = await newToken(world, alice);
  expect((await again.get(database.url)).body).toMatchObject({ status: "suspended" });
  await world.run("closedAccounts");
  expect(await world.openOperations()).toEqual([]);
  expect((await again.post(`${database.url}/resume`)).status).toBe(200);
  await followed(world, host, "running");
  expect((await again.get(database.url)).body).toMatchObject({ status: "active" });
});

test("a reopened account is metered from the next month on: its last month is paid", async () => {
  await using world = await newWorld();
  const { alice, host } = await owing(world);
  await addCard(alice, GOOD);
  await alice.post("/v4/account/cancel");
  await followed(world, host, "stopped");
  const { now } = world.time;
  const nextMonth = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();

  later(world, 1);
  await reopen(world, alice.accountId);

  expect((await factsOf(world)).slice(1)).toEqual([
    { state: "ended", at: now.toISOString() },
    { state: "suspended", at: nextMonth },
  ]);
  const again = await newToken(world, alice);
  expect((await again.get("/v4/account")).body).toMatchObject({ balance: 0, balance_uninvoiced: 0 });
  // It can be cancelled again: a month has one invoice, and that exists.
  expect((await again.post("/v4/account/cancel")).status).toBe(200);
  expect((await world.payments()).charged()).toHaveLength(1);
});

test("an account that is open, unknown, or whose data are being deleted cannot be reopened", async () => {
  await using world = await newWorld();
  const [alice, host] = [await world.customer(), await world.host()];
  await activeDatabase(world, alice, host);

  expect((await reopen(world, alice.accountId)).status).toBe(400);
  expect((await reopen(world, 999)).status).toBe(404);
  await close(world, alice.accountId);
  later(world, CLOSED_ACCOUNT_DAYS * 24);
  expect(await reopen(world, alice.accountId)).toMatchObject({
    status: 400,
    body: { errors: [{ reason: texts.dataBeingDeleted(alice).text }] },
  });
});

test("the operator sees everything of an account, even of a closed one", async () => {
  await using world = await newWorld();
  const { alice } = await owing(world);
  await addCard(alice, GOOD);
  await alice.put("/v4/account", { email: "bills@harbour.example", city: "Hamburg", country: "DE" });
  const show = () => world.operator.get(`/admin/accounts/${alice.accountId}`);

  expect((await show()).body).toMatchObject({
    contact: { email: "bills@harbour.example", city: "Hamburg", country: "DE", zip: "20457" },
    billing_source: "operator",
    balance: 0,
    balance_uninvoiced: 3,
    closed: null,
    sees_availability: true,
    card: { type: "Visa", last_four: "4242" },
  });
  await alice.post("/v4/account/cancel", { comments: "bye" });
  expect((await show()).body).toMatchObject({ balance_uninvoiced: 0, cancellation: { comments: "bye" } });
  expect((await world.operator.get("/admin/accounts/999")).status).toBe(404);
  expect((await alice.get(INSTANCES)).status).toBe(401);
});
