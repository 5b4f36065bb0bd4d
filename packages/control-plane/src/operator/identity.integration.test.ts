import { expect, test } from "vitest";
import { notificationsOf } from "#testing/notifications-of.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "./texts.ts";

const INSTANCES = "/v4/databases/mysql/instances";
const limits = { databases: 1, nodes: 3, memory_mb: 4096, disk_mb: 40_960 };

async function newAccount({ operator }: World, email = "owner@harbour.example") {
  const { body } = await operator.post<{ id: number }>("/admin/accounts", { company: "Harbour", email, limits });
  return `/admin/accounts/${body.id}`;
}

/** An account with a restricted user who has a token. */
async function clerk(world: World) {
  const account = await newAccount(world);
  const user = `${account}/users/clerk`;
  await world.operator.post(`${account}/users`, { username: "clerk", email: "c@harbour.example", restricted: true });
  const issued = await world.operator.post<{ id: number; token: string }>(`${user}/tokens`, {
    label: "desk",
    scopes: ["*"],
  });
  return {
    account,
    accountId: Number(account.split("/").at(-1)),
    user,
    ...issued.body,
    ...world.as(issued.body.token),
  };
}

test("accounts are listed with their limits and their usage", async () => {
  await using world = await newWorld();
  const account = await newAccount(world);

  expect(await world.operator.get("/admin/accounts")).toMatchObject({
    status: 200,
    body: { data: [{ company: "Harbour", limits, used: { databases: 0 }, capabilities: [] }], results: 1, pages: 1 },
  });
  expect(await newAccount(world)).toBe(account);
});

test("limits that are named change, the others stay", async () => {
  await using world = await newWorld();
  const account = await newAccount(world);

  const reply = await world.operator.post(`${account}/limits`, { databases: 0, disk_mb: 99 });

  expect(reply).toMatchObject({ status: 200, body: { limits: { ...limits, databases: 0, disk_mb: 99 } } });
});

test("granting and withdrawing a capability is repeatable", async () => {
  await using world = await newWorld();
  const account = await newAccount(world);
  const set = (granted: boolean) =>
    world.operator.post(`${account}/capabilities`, { capability: "Managed Databases", granted });

  await set(true);
  expect(await set(true)).toMatchObject({ body: { capabilities: ["Managed Databases"] } });
  await set(false);
  expect(await set(false)).toMatchObject({ status: 200, body: { capabilities: [] } });
  expect(
    await world.operator.post(`${account}/capabilities`, { capability: "Free beer", granted: true }),
  ).toMatchObject({ status: 400, body: { errors: [{ field: "capability" }] } });
});

test("an unknown account is 404, with the command that lists accounts", async () => {
  await using world = await newWorld();

  for (const path of ["/limits", "/users", "/users/clerk/tokens", "/users/clerk/grants"])
    for (const id of ["7", "x", "-1", "9".repeat(40)]) {
      const reply = await world.operator.post(`/admin/accounts/${id}${path}`, bodies[path] ?? {});
      expect(reply).toMatchObject({
        status: 404,
        body: { errors: [{ reason: texts.accountUnknown({ id }).text }] },
      });
    }
});
const bodies: Record<string, object> = {
  "/users": { username: "clerk", email: "c@harbour.example", restricted: true },
  "/users/clerk/tokens": { label: "desk", scopes: ["*"] },
};

test("users are listed; a name of another account is refused without naming that account", async () => {
  await using world = await newWorld();
  const { account } = await clerk(world);
  const other = await newAccount(world, "owner@other.example");

  expect(await world.operator.get(`${account}/users`)).toMatchObject({
    body: { data: [{ username: "clerk", email: "c@harbour.example", restricted: true }] },
  });
  expect(
    await world.operator.post(`${other}/users`, { username: "clerk", email: "x@other.example", restricted: false }),
  ).toMatchObject({ status: 400, body: { errors: [{ field: "username" }] } });
  expect(await world.operator.get(`${other}/users`)).toMatchObject({ body: { data: [] } });
});

test.each(["ab", "-abc", "abc-", "a--b", "a_-b", "a b c", "a".repeat(33)])("%j is no valid name", async (username) => {
  await using world = await newWorld();
  const account = await newAccount(world);

  const reply = await world.operator.post(`${account}/users`, { username, email: "a@b.example", restricted: false });

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field: "username" }] } });
});

test("grants are merged and enforced: none, read_only, read_write", async () => {
  await using world = await newWorld();
  await world.host();
  const rob = await clerk(world);
  const grant = (body: object) => world.operator.post(`${rob.user}/grants`, body);
  expect(await rob.create()).toMatchObject({ status: 403 });

  await grant({ global: { add_databases: true } });
  const { id, label } = (await rob.create()).body;
  expect(await grant({ global: { account_read: true }, database: [{ id, permissions: "read_only" }] })).toMatchObject({
    status: 200,
    body: {
      restricted: true,
      global: { account_read: true, account_write: false, add_databases: true, add_images: false },
      database: [{ id, label, permissions: "read_only" }],
    },
  });
  expect(await rob.get(`${INSTANCES}/${id}`)).toMatchObject({ status: 200 });

  await grant({ database: [{ id, permissions: null }] });
  expect(await rob.get(`${INSTANCES}/${id}`)).toMatchObject({ status: 404 });
  expect(await world.operator.get(`${rob.user}/grants`)).toMatchObject({ body: { database: [] } });
});

test("a grant on another account's database is refused like one on an unknown database", async () => {
  await using world = await newWorld();
  const rob = await clerk(world);
  const theirs = (await (await world.customer()).create()).body.id;
  const reply = (id: number) =>
    world.operator.post(`${rob.user}/grants`, {
      global: { add_databases: true },
      database: [{ id, permissions: "read_only" }],
    });

  for (const id of [theirs, 4])
    expect(await reply(id)).toMatchObject({
      status: 404,
      body: {
        errors: [
          { field: "database", reason: texts.entityUnknown({ account: rob.accountId, kind: "database", id }).text },
        ],
      },
    });

  expect(await world.operator.get(`${rob.user}/grants`)).toMatchObject({
    body: { global: { add_databases: false }, database: [] },
  });
});

test("an unrestricted user takes no grants; one who is restricted again begins with none", async () => {
  await using world = await newWorld();
  await world.host();
  const rob = await clerk(world);
  await world.operator.post(`${rob.user}/grants`, { global: { add_databases: true } });
  const { id } = (await rob.create()).body;
  const save = (restricted: boolean) =>
    world.operator.post(`${rob.account}/users`, { username: "clerk", email: "c@harbour.example", restricted });

  await save(false);
  expect(await rob.get(`${INSTANCES}/${id}`)).toMatchObject({ status: 200 });
  expect(await world.operator.post(`${rob.user}/grants`, {})).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringContaining("moorage admin user create") }] },
  });

  await save(true);
  expect(await rob.get(`${INSTANCES}/${id}`)).toMatchObject({ status: 404 });
  expect(await rob.create()).toMatchObject({ status: 403 });
});

test("tokens are listed by prefix only, and end when they expire or are revoked", async () => {
  await using world = await newWorld();
  const rob = await clerk(world);
  const expires = new Date(world.time.now.getTime() + 60_000).toISOString().slice(0, 19);
  const brief = await world.operator.post<{ token: string }>(`${rob.user}/tokens`, {
    label: "brief",
    scopes: ["databases:read_only"],
    expires,
  });

  const list = await world.operator.get(`${rob.account}/tokens`);
  expect(list.body).toMatchObject({
    data: [
      { id: rob.id, username: "clerk", label: "desk", prefix: rob.token.slice(0, 16), scopes: ["*"], expires: null },
      { label: "brief", scopes: ["databases:read_only"], expires, revoked: null },
    ],
  });
  for (const secret of [rob.token, brief.body.token]) expect(JSON.stringify(list.body)).not.toContain(secret);

  world.time.now = new Date(world.time.now.getTime() + 60_000);
  expect(await world.as(brief.body.token).get(INSTANCES)).toMatchObject({ status: 401 });
  expect(await rob.get(INSTANCES)).toMatchObject({ status: 200 });

  const revoke = () => world.operator.post(`${rob.account}/tokens/${rob.id}/revoke`, {});
  const first = await revoke();
  expect(await rob.get(INSTANCES)).toMatchObject({ status: 401 });
  world.time.now = new Date(world.time.now.getTime() + 60_000);
  expect((await revoke()).body).toEqual(first.body);
});

test("another account's token is not found, and stays valid", async () => {
  await using world = await newWorld();
  const rob = await clerk(world);
  const other = await newAccount(world, "owner@other.example");

  expect(await world.operator.post(`${other}/tokens/${rob.id}/revoke`, {})).toMatchObject({ status: 404 });

  expect(await rob.get(INSTANCES)).toMatchObject({ status: 200 });
});

test.each([
  [{ scopes: ["everything"] }, "scopes[0]"],
  [{ scopes: [] }, "scopes"],
  [{ expires: "2001-01-01T00:00:00" }, "expires"],
  [{ expires: "2099-13-01T00:00:00" }, "expires"],
  [{ expires: "2099-02-30T00:00:00" }, "expires"],
  [{ expires: "tomorrow" }, "expires"],
])("a token with %j is refused at %s", async (change, field) => {
  await using world = await newWorld();
  const { user } = await clerk(world);

  const reply = await world.operator.post(`${user}/tokens`, { label: "x", scopes: ["*"], ...change });

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field }] } });
});

test("completed commands are audited, refused ones are not", async () => {
  await using world = await newWorld();
  const rob = await clerk(world);
  const before = await world.db.selectFrom("audit").select("id").execute();

  await world.operator.post(`${rob.account}/limits`, { nodes: 5 });
  await world.operator.post(`${rob.account}/capabilities`, { capability: "Managed Databases", granted: true });
  await world.operator.post(`${rob.user}/grants`, { database: [{ id: 4, permissions: "read_only" }] });
  await world.operator.post(`${rob.user}/grants`, { global: { add_images: true } });
  await world.operator.post(`${rob.account}/tokens/${rob.id}/revoke`, {});

  const lines = await world.db.selectFrom("audit").select(["target", "detail"]).orderBy("id").execute();
  expect(lines.slice(before.length)).toEqual([
    { target: `${rob.account}/limits`, detail: { nodes: 5 } },
    { target: `${rob.account}/capabilities`, detail: { capability: "Managed Databases", granted: true } },
    { target: `${rob.user}/grants`, detail: { global: { add_images: true }, database: [], compute: [] } },
    { target: `${rob.account}/tokens/${rob.id}/revoke`, detail: {} },
  ]);
});

// A cache in another process must not answer with the state before the change.
test("changes of users, grants and tokens notify every process after the commit", async () => {
  await using world = await newWorld();
  const rob = await clerk(world);
  await using notifications = await notificationsOf(world.databaseUrl, "identity");

  await world.operator.post(`${rob.account}/users`, { username: "clerk", email: "new@b.example", restricted: true });
  await world.operator.post(`${rob.user}/grants`, { global: { account_read: true } });
  await world.operator.post(`${rob.account}/tokens/${rob.id}/revoke`, {});

  await expect.poll(() => notifications.received).toEqual(["", "", ""]);
});
