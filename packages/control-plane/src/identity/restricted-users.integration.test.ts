import { expect, test } from "vitest";
import { activeDatabase } from "#testing/active-database.ts";
import { newWorld, type World } from "#testing/world.ts";

const INSTANCES = "/v4/databases/mysql/instances";
type Named = { data: { id: number }[]; results: number };

/** A restricted user in the account of an unrestricted one. */
async function newCompany(world: World, globalGrants: object = {}) {
  const owner = await world.customer();
  const clerk = await world.colleague(owner.accountId, { restricted: true });
  await world.db
    .updateTable("users")
    .set({ global_grants: JSON.stringify(globalGrants) })
    .where("id", "=", clerk.userId)
    .execute();
  const grant = (databaseId: number, permission: "read_only" | "read_write") =>
    world.db
      .insertInto("entity_grants")
      .values({
        account_id: owner.accountId,
        user_id: clerk.userId,
        entity_type: "database",
        entity_id: databaseId,
        permission,
      })
      .execute();
  return { owner, clerk, grant };
}

test("a restricted user sees only granted databases, in views, lists, counts and events", async () => {
  await using world = await newWorld();
  const { owner, clerk, grant } = await newCompany(world);
  const [shown, hidden] = [(await owner.create()).body.id, (await owner.create()).body.id];
  await grant(shown, "read_only");

  expect(await clerk.get(`${INSTANCES}/${shown}`)).toMatchObject({ status: 200 });
  const refusal = async (id: number) => {
    const { status, body } = await clerk.get(`${INSTANCES}/${id}`);
    return [status, JSON.stringify(body).replaceAll(String(id), "N")];
  };
  expect(await refusal(hidden)).toEqual(await refusal(hidden + 1_000_000));
  for (const list of [INSTANCES, "/v4/databases/instances"])
    expect((await clerk.get<Named>(list)).body).toMatchObject({ results: 1, data: [{ id: shown }] });
  const events = (await clerk.get<{ data: { entity: { id: number } }[]; results: number }>("/v4/account/events")).body;
  expect(events).toMatchObject({ results: 1, data: [{ entity: { id: shown } }] });
});

test("read_only does not show the password, read_write does once the database is ready", async () => {
  await using world = await newWorld();
  const { owner, clerk, grant } = await newCompany(world);
  const { id } = (await owner.create()).body;
  await world.db.updateTable("databases").set({ status: "active" }).execute();
  await grant(id, "read_only");
  expect(await clerk.get(`${INSTANCES}/${id}/credentials`)).toMatchObject({ status: 403 });
  await world.db.updateTable("entity_grants").set({ permission: "read_write" }).execute();
  expect(await clerk.get(`${INSTANCES}/${id}/credentials`)).toMatchObject({ status: 200 });
});

test("creating requires add_databases, and the creator may use the database", async () => {
  await using world = await newWorld();
  const { clerk } = await newCompany(world);
  expect(await clerk.create()).toMatchObject({ status: 403 });
  await world.db
    .updateTable("users")
    .set({ global_grants: JSON.stringify({ add_databases: true }) })
    .execute();
  const created = await clerk.create();
  expect(created).toMatchObject({ status: 200 });
  expect(await clerk.get(`${INSTANCES}/${created.body.id}`)).toMatchObject({ status: 200 });
});

test("a restricted user's missing grant is reported before errors in the body", async () => {
  await using world = await newWorld();
  const { clerk } = await newCompany(world);
  expect(await clerk.post(INSTANCES, { label: "x" })).toMatchObject({ status: 403 });
});

test("deleting a database removes its grants", async () => {
  await using world = await newWorld();
  const { owner, grant } = await newCompany(world);
  const { id } = (await owner.create()).body;
  await grant(id, "read_write");
  await world.db.updateTable("databases").set({ status: "active" }).execute();
  expect(await owner.delete(`${INSTANCES}/${id}`)).toMatchObject({ status: 200 });
  expect(await world.db.selectFrom("entity_grants").selectAll().execute()).toEqual([]);
});

test("where databases are only for customers, the capability or an active database gives access", async () => {
  await using world = await newWorld({ existingCustomersOnly: true });
  const [alice, host] = [await world.customer(), await world.host()];
  const capability = (granted: boolean) =>
    world.operator.post(`/admin/accounts/${alice.accountId}/capabilities`, {
      capability: "Managed Databases",
      granted,
    });
  const setStatus = (status: "active" | "failed" | "backing_up") =>
    world.db.updateTable("databases").set({ status }).execute();
  const refused = {
    status: 403,
    body: { errors: [{ reason: expect.stringContaining("have an active database, and this account has none") }] },
  };
  expect(await alice.create()).toMatchObject(refused);
  await capability(true);
  expect(await alice.create()).toMatchObject({ status: 200 });
  await capability(false);
  // One that is being created or has failed does not count.
  expect(await alice.create()).toMatchObject(refused);
  await setStatus("failed");
  expect(await alice.create()).toMatchObject(refused);

  await setStatus("active");
  await activeDatabase(world, alice, host);
  await setStatus("backing_up");
  expect(await alice.create()).toMatchObject({ status: 200 });
});
