import { type Grants, grantFlags } from "@moorage/contract";
import { expect, test } from "vitest";
import { newWorld, type World } from "#testing/world.ts";

const USERS = "/v4/account/users";
const INSTANCES = "/v4/databases/mysql/instances";

/** An owner with two databases, and a restricted user. */
async function newCompany(world: World) {
  const owner = await world.customer();
  const clerk = await world.colleague(owner.accountId, { restricted: true });
  const [shop, desk] = [(await owner.create()).body, (await owner.create()).body];
  const path = `${USERS}/${clerk.username}/grants`;
  return {
    owner,
    clerk,
    shop,
    desk,
    path,
    grant: (change: object) => owner.put<Grants>(path, change),
    held: async () => (await clerk.get<Grants>("/v4/profile/grants")).body,
  };
}

test("an unrestricted user's grants are 204 without a body, for others and for themselves", async () => {
  await using world = await newWorld();
  const { owner } = await newCompany(world);

  for (const path of [`${USERS}/${owner.username}/grants`, "/v4/profile/grants"])
    expect(await owner.get(path)).toMatchObject({ status: 204, body: undefined });
  expect(await owner.put(`${USERS}/${owner.username}/grants`, { global: { add_databases: true } })).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("restricted") }] },
  });
});

test("a restricted user starts with nothing: databases are listed without permission, and they see none", async () => {
  await using world = await newWorld();
  const { owner, shop, desk, path, held } = await newCompany(world);

  const { status, body } = await owner.get<Grants>(path);

  expect(status).toBe(200);
  expect(body.database).toEqual([
    { id: shop.id, label: shop.label, permissions: null },
    { id: desk.id, label: desk.label, permissions: null },
  ]);
  expect(body.global).toEqual({
    account_access: null,
    ...Object.fromEntries(grantFlags.map((flag) => [flag, false])),
  });
  const { global: _global, database: _database, ...others } = body;
  expect(Object.values(others).flat()).toEqual([]);
  expect((await held()).database).toEqual([]);
});

test("grants are merged: named ones change, the rest stays, unknown names are ignored", async () => {
  await using world = await newWorld();
  const { grant, held, shop, desk } = await newCompany(world);
  await grant({ global: { account_access: "read_write", add_databases: true } });
  await grant({ database: [{ id: shop.id, permissions: "read_write" }] });

  const { status, body } = await grant({
    global: { account_access: "read_only", add_linodes: true, add_moons: true },
    database: [{ id: desk.id, permissions: "read_only", label: "mine" }],
    moons: [{ id: 7, permissions: "read_only" }],
    user_id: 1,
  });

  expect(status).toBe(200);
  expect(body.global).toMatchObject({ account_access: "read_only", add_databases: true, add_linodes: true });
  expect(body.global).not.toHaveProperty("add_moons");
  expect(body.database).toEqual([
    { id: shop.id, label: shop.label, permissions: "read_write" },
    { id: desk.id, label: desk.label, permissions: "read_only" },
  ]);
  expect(await held()).toEqual(body);

  await grant({ global: { account_access: null }, database: [{ id: shop.id, permissions: null }] });
  expect(await held()).toMatchObject({
    global: { account_access: null, add_databases: true },
    database: [{ id: desk.id, permissions: "read_only" }],
  });
});

test("account_access controls access to the account: none, read, write", async () => {
  await using world = await newWorld();
  const { grant, clerk } = await newCompany(world);
  const CLIENTS = "/v4/account/oauth-clients";
  const tries = async () => [
    (await clerk.get(CLIENTS)).status,
    (await clerk.post(CLIENTS, { label: "a", redirect_uri: "https://a.example/" })).status,
  ];

  expect(await tries()).toEqual([403, 403]);
  await grant({ global: { account_access: "read_only" } });
  expect(await tries()).toEqual([200, 403]);
  await grant({ global: { account_access: "read_write" } });
  expect(await tries()).toEqual([200, 200]);
  await grant({ global: { account_access: null } });
  expect(await tries()).toEqual([403, 403]);
});

test("grants by the operator and by the account's owner are the same", async () => {
  await using world = await newWorld();
  const { owner, clerk, grant, held, shop } = await newCompany(world);
  const admin = `/admin/accounts/${owner.accountId}/users/${clerk.username}/grants`;

  await world.operator.post(admin, {
    global: { account_write: true, account_read: true, add_databases: true },
    database: [{ id: shop.id, permissions: "read_only" }],
  });
  expect(await held()).toMatchObject({
    global: { account_access: "read_write", add_databases: true },
    database: [{ id: shop.id, permissions: "read_only" }],
  });

  await grant({ global: { account_access: "read_only" }, database: [{ id: shop.id, permissions: "read_write" }] });
  expect(await world.operator.get(admin)).toMatchObject({
    body: {
      global: { account_read: true, account_write: false, add_databases: true },
      database: [{ id: shop.id, permissions: "read_write" }],
    },
  });
});

test("another account's database, a deleted and a missing one are refused alike, and nothing changes", async () => {
  await using world = await newWorld();
  const { owner, grant, held, shop, desk } = await newCompany(world);
  const theirs = (await (await world.customer()).create()).body.id;
  await world.db.updateTable("databases").set({ status: "active" }).execute();
  await owner.delete(`${INSTANCES}/${desk.id}`);
  const before = await world.events();

  for (const id of [theirs, desk.id, 4]) {
    const reply = await grant({
      global: { add_databases: true },
      database: [
        { id: shop.id, permissions: "read_only" },
        { id, permissions: "read_only" },
      ],
      linode: [{ id: shop.id, permissions: null }],
    });
    expect(reply).toMatchObject({
      status: 400,
      body: {
        errors: [
          { field: "database[1].id", reason: expect.stringContaining(String(id)) },
          { field: "linode[0].id", reason: expect.stringContaining(String(shop.id)) },
        ],
      },
    });
  }

  expect(await held()).toMatchObject({ global: { add_databases: false }, database: [] });
  expect(await world.events()).toEqual(before);
});

test("a restricted user sees and does exactly what is granted, from the next request on", async () => {
  await using world = await newWorld();
  const { clerk, grant, shop, desk } = await newCompany(world);
  const seen = async () =>
    (await clerk.get<{ data: { id: number }[]; results: number }>(INSTANCES)).body.data.map(({ id }) => id);

  expect(await seen()).toEqual([]);
  await grant({ database: [{ id: shop.id, permissions: "read_only" }] });
  expect(await seen()).toEqual([shop.id]);
  expect(await clerk.put(`${INSTANCES}/${shop.id}`, { label: "renamed" })).toMatchObject({ status: 403 });
  expect(await clerk.put(`${INSTANCES}/${desk.id}`, { label: "renamed" })).toMatchObject({ status: 404 });
  await grant({ database: [{ id: shop.id, permissions: null }] });
  expect(await seen()).toEqual([]);
});

test("a user who becomes restricted starts with no grants, also the second time", async () => {
  await using world = await newWorld();
  const { owner, clerk, grant, held, shop } = await newCompany(world);
  await grant({ global: { add_databases: true }, database: [{ id: shop.id, permissions: "read_write" }] });
  const restrict = (restricted: boolean) => owner.put(`${USERS}/${clerk.username}`, { restricted });

  await restrict(true);
  expect(await held()).toMatchObject({ global: { add_databases: true }, database: [{ id: shop.id }] });
  await restrict(false);
  expect(await clerk.get("/v4/profile/grants")).toMatchObject({ status: 204 });
  expect(await world.db.selectFrom("entity_grants").selectAll().execute()).toEqual([]);
  await restrict(true);
  expect(await held()).toMatchObject({ global: { add_databases: false }, database: [] });
});

test("of an object named twice, the last entry counts", async () => {
  await using world = await newWorld();
  const { grant, shop, desk } = await newCompany(world);

  const { body } = await grant({
    database: [
      { id: shop.id, permissions: "read_write" },
      { id: desk.id, permissions: null },
      { id: shop.id, permissions: null },
      { id: desk.id, permissions: "read_only" },
    ],
  });

  expect(body.database).toMatchObject([{ permissions: null }, { permissions: "read_only" }]);
});

test("a database that is deleted while it is granted leaves no grant behind", async () => {
  await using world = await newWorld();
  const { owner, grant, shop, desk } = await newCompany(world);
  await world.db.updateTable("databases").set({ status: "active" }).execute();

  const replies = await Promise.all([
    grant({ database: [{ id: shop.id, permissions: "read_write" }] }),
    owner.delete(`${INSTANCES}/${shop.id}`),
    grant({ database: [{ id: desk.id, permissions: "read_write" }] }),
    owner.delete(`${INSTANCES}/${desk.id}`),
  ]);

  for (const { status } of replies) expect([200, 400]).toContain(status);
  expect(await world.db.selectFrom("entity_grants").selectAll().execute()).toEqual([]);
});

test("a change of grants emits a user_update and an audit entry", async () => {
  await using world = await newWorld();
  const { clerk, grant, shop } = await newCompany(world);

  await grant({ global: { account_access: "read_only" }, database: [{ id: shop.id, permissions: "read_only" }] });

  expect((await world.events()).at(-1)).toMatchObject({ action: "user_update", entity_id: String(clerk.userId) });
  const line = await world.db.selectFrom("audit").selectAll().orderBy("id", "desc").executeTakeFirstOrThrow();
  expect(line).toMatchObject({
    action: "change_grants",
    target: `user/${clerk.userId}`,
    detail: {
      global: { account_read: true, account_write: false },
      database: [{ id: shop.id, permissions: "read_only" }],
    },
  });
});

test.each([
  [{ global: { account_access: "all" } }, "global.account_access"],
  [{ global: { add_databases: "yes" } }, "global.add_databases"],
  [{ database: [{ id: "x", permissions: null }] }, "database[0].id"],
  [{ database: [{ id: 5, permissions: "write" }] }, "database[0].permissions"],
])("%j is refused at %s", async (change, field) => {
  await using world = await newWorld();
  const { grant } = await newCompany(world);

  expect(await grant(change)).toMatchObject({ status: 400, body: { errors: [{ field }] } });
});
