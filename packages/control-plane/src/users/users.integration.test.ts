import type { Event, User } from "@moorage/contract";
import { expect, test } from "vitest";
import { consent } from "#testing/consent.ts";
import { refusalOf } from "#testing/refusal-of.ts";
import { newWorld, type World } from "#testing/world.ts";

const USERS = "/v4/account/users";
const EVENTS = "/v4/account/events";
type Page<Item> = { data: Item[]; results: number };

const mailsOf = async (world: World) => {
  const rows = await world.db.selectFrom("mails").selectAll().orderBy("id").execute();
  return rows.map(
    ({ id, message }) => JSON.parse(world.sealer.open(["mails", id], message)) as Record<string, unknown>,
  );
};
const later = (world: World, seconds = 60): void => {
  world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
};
const eventsOf = async (reader: { get: World["anonymous"]["get"] }) =>
  (await reader.get<Page<Event>>(EVENTS)).body.data.map(({ action }) => action);

test("a new user is restricted by default, has no password, and is invited by mail", async () => {
  await using world = await newWorld();
  const owner = await world.customer();

  const reply = await owner.post(USERS, { username: "rob", email: "rob@harbour.example" });

  const rob = {
    username: "rob",
    email: "rob@harbour.example",
    restricted: true,
    ssh_keys: [],
    tfa_enabled: false,
    verified_phone_number: null,
    password_created: null,
    last_login: null,
    user_type: "default",
  };
  expect(reply).toMatchObject({ status: 200, body: rob });
  expect((await owner.get(`${USERS}/rob`)).body).toEqual(rob);
  expect((await owner.get<Page<User>>(USERS)).body.data.map(({ username }) => username)).toEqual([
    owner.username,
    "rob",
  ]);
  expect(await mailsOf(world)).toEqual([
    expect.objectContaining({ kind: "invite", email: "rob@harbour.example", username: "rob" }),
  ]);
  const row = await world.db.selectFrom("users").select("id").where("username", "=", "rob").executeTakeFirstOrThrow();
  expect((await owner.get<Page<Event>>(EVENTS)).body.data).toMatchObject([
    {
      action: "user_create",
      status: "notification",
      username: owner.username,
      entity: { id: row.id, label: "rob", type: "user", url: `${USERS}/rob` },
    },
  ]);
  expect((await world.audit()).at(-1)).toMatchObject({ action: "create_user", target: `user/${row.id}` });
});

test("an Idempotency-Key makes one user and one invitation of two requests", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const send = () =>
    world.send({
      method: "POST",
      url: USERS,
      headers: { authorization: `Bearer ${owner.token}`, "idempotency-key": "k" },
      payload: { username: "rob", email: "rob@harbour.example" },
    });

  const [first, second] = [await send(), await send()];

  expect([first.statusCode, second.statusCode]).toEqual([200, 200]);
  expect(second.json()).toEqual(first.json());
  expect(await mailsOf(world)).toHaveLength(1);
  expect(await eventsOf(owner)).toEqual(["user_create"]);
});

test("a name in use, in any case, is refused without revealing whose it is", async () => {
  await using world = await newWorld();
  const [owner, stranger] = [await world.customer(), await world.customer()];
  await stranger.post(USERS, { username: "Baker", email: "b@harbour.example" });
  await owner.post(USERS, { username: "rob", email: "rob@harbour.example" });
  const refusal = (username: string) => owner.post(USERS, { username, email: "x@harbour.example" });

  const foreign = await refusal("bAKER");
  expect(foreign).toMatchObject({ status: 400, body: { errors: [{ field: "username" }] } });
  expect((await refusal("ROB")).body).toEqual(foreign.body);
  expect((await owner.put(`${USERS}/rob`, { username: "baker" })).body).toEqual(foreign.body);
  expect(await owner.get(`${USERS}/rob`)).toMatchObject({ status: 200 });
  expect(await mailsOf(world)).toHaveLength(2);
});

test("two concurrent requests for one name create one user", async () => {
  await using world = await newWorld();
  const [alice, bob] = [await world.customer(), await world.customer()];

  const replies = await Promise.all(
    [alice, bob, alice, bob].map((who) => who.post(USERS, { username: "rob", email: "rob@harbour.example" })),
  );

  expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400, 400]);
});

test("another account's user is not found, and is not changed", async () => {
  await using world = await newWorld();
  const [owner, stranger] = [await world.customer(), await world.customer()];
  const path = `${USERS}/${owner.username}`;
  const missing = refusalOf(await stranger.get(`${USERS}/nobody`), "nobody", owner.username);

  for (const reply of [
    await stranger.get(path),
    await stranger.put(path, { email: "mine@now.example" }),
    await stranger.delete(path),
    await stranger.get(`${path}/grants`),
    await stranger.put(`${path}/grants`, {}),
  ])
    expect(reply).toMatchObject({ status: 404, body: missing });
  expect(await owner.get(path)).toMatchObject({ body: { email: `${owner.username}@test.example` } });
});

test("a renamed user's token stays valid, with the new name; the old name is unknown and free", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const clerk = await world.colleague(owner.accountId, { restricted: true });

  expect(await owner.put(`${USERS}/${clerk.username}`, { username: "clerk-2" })).toMatchObject({
    status: 200,
    body: { username: "clerk-2", restricted: true },
  });

  expect(await clerk.get("/v4/profile")).toMatchObject({ status: 200, body: { username: "clerk-2" } });
  expect(await owner.get(`${USERS}/${clerk.username}`)).toMatchObject({ status: 404 });
  expect(await owner.post(USERS, { username: clerk.username, email: "new@harbour.example" })).toMatchObject({
    status: 200,
  });
});

test("a new user with an old name sees none of what was done under it", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const [gone, renamed] = [
    await world.colleague(owner.accountId, { restricted: true }),
    await world.colleague(owner.accountId, { restricted: true }),
  ];
  for (const user of [gone, renamed]) {
    await user.put("/v4/profile", { timezone: "Europe/Berlin" });
    expect(await eventsOf(user)).toEqual(["profile_update"]);
  }
  later(world);

  await owner.delete(`${USERS}/${gone.username}`);
  await owner.put(`${USERS}/${renamed.username}`, { username: "another" });
  for (const name of [gone.username, renamed.username])
    await world.operator.post(`/admin/accounts/${owner.accountId}/users`, {
      username: name,
      email: "heir@harbour.example",
      restricted: true,
    });

  for (const name of [gone.username, renamed.username]) {
    const { body } = await world.operator.post<{ token: string }>(
      `/admin/accounts/${owner.accountId}/users/${name}/tokens`,
      { label: "x", scopes: ["*"] },
    );
    const heir = world.as(body.token);
    expect(await eventsOf(heir)).toEqual([]);
    await heir.put("/v4/profile", { timezone: "Europe/Paris" });
    expect(await eventsOf(heir)).toEqual(["profile_update"]);
  }
  expect(await eventsOf(renamed)).toEqual([]);
});

test("a user renamed to an old name sees none of what was done under it, however old the user is", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const gone = await world.colleague(owner.accountId, { restricted: true });
  const heir = await world.colleague(owner.accountId, { restricted: true });
  later(world);
  await gone.put("/v4/profile", { timezone: "Europe/Berlin" });
  later(world);
  await owner.delete(`${USERS}/${gone.username}`);

  await owner.put(`${USERS}/${heir.username}`, { username: gone.username });

  expect(await heir.get("/v4/profile")).toMatchObject({ body: { username: gone.username } });
  expect(await eventsOf(heir)).toEqual([]);
});

test("only unrestricted users see changes of users", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const clerk = await world.colleague(owner.accountId, { restricted: true });
  await owner.put(`${USERS}/${clerk.username}/grants`, {
    global: { account_access: "read_write", add_databases: true },
  });
  await owner.post(USERS, { username: "rob", email: "rob@harbour.example" });
  await owner.post("/v4/profile/tokens", {});
  await owner.put("/v4/profile", { timezone: "Europe/Berlin" });

  expect(await eventsOf(owner)).toEqual(["profile_update", "token_create", "user_create", "user_update"]);
  expect((await clerk.get<Page<Event>>(EVENTS)).body).toMatchObject({ data: [], results: 0 });
});

test("a deleted user's tokens are invalid at once, with all their other access", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const rob = await world.colleague(owner.accountId);
  const client = await owner.post<{ id: string }>("/v4/account/oauth-clients", {
    label: "Chart room",
    redirect_uri: "https://charts.example/callback",
  });
  const app = world.as((await consent(world, rob, client.body.id)).token);
  const key = { account_id: owner.accountId, user_id: rob.userId };
  const soon = new Date(world.time.now.getTime() + 60_000);
  await world.db
    .insertInto("password_links")
    .values({ ...key, sha256: Buffer.alloc(32), created_at: soon, expires_at: soon })
    .execute();
  await world.db
    .insertInto("address_links")
    .values({ ...key, sha256: Buffer.alloc(32), email: "r@harbour.example", created_at: soon, expires_at: soon })
    .execute();
  await world.db
    .insertInto("auth_records")
    .values({
      ...key,
      model: "Session",
      key_sha256: Buffer.alloc(32),
      app_grant_id: null,
      uid_sha256: null,
      payload: "",
      expires_at: soon,
      consumed_at: null,
    })
    .execute();
  await world.db
    .insertInto("scratch_codes")
    .values({ ...key, sha256: Buffer.alloc(32) })
    .execute();
  await world.db
    .insertInto("passkeys")
    .values({
      ...key,
      label: "key",
      credential_id: Buffer.alloc(8),
      public_key: Buffer.alloc(8),
      counter: 0,
      transports: [],
      created_at: soon,
      used_at: null,
    })
    .execute();
  for (const who of [rob, app]) expect(await who.get("/v4/profile")).toMatchObject({ status: 200 });

  expect(await owner.delete(`${USERS}/${rob.username}`)).toMatchObject({ status: 200, body: {} });

  for (const who of [rob, app]) expect(await who.get("/v4/profile")).toMatchObject({ status: 401 });
  const tables = [
    "tokens",
    "app_grants",
    "password_links",
    "address_links",
    "auth_records",
    "scratch_codes",
    "passkeys",
  ] as const;
  for (const table of tables)
    expect([table, await world.db.selectFrom(table).selectAll().where("user_id", "=", rob.userId).execute()]).toEqual([
      table,
      [],
    ]);
  expect(await owner.get(`${USERS}/${rob.username}`)).toMatchObject({ status: 404 });
  expect((await eventsOf(owner))[0]).toBe("user_delete");
});

// Both need rows that the other has locked: the deletion gives way and retries.
test("a user deleted during their own requests is gone, and each request is done or refused", async () => {
  await using world = await newWorld();
  const owner = await world.customer({ limits: { databases: 50, nodes: 50, memory_mb: 102_400, disk_mb: 1_024_000 } });
  for (let round = 0; round < 8; round++) {
    const clerk = await world.colleague(owner.accountId, { restricted: true });
    await owner.put(`${USERS}/${clerk.username}/grants`, { global: { add_databases: true } });

    const [deleted, ...others] = await Promise.all([
      owner.delete(`${USERS}/${clerk.username}`),
      clerk.create(),
      clerk.post("/v4/profile/tokens", {}),
      clerk.create(),
      clerk.put("/v4/profile", { timezone: "UTC" }),
    ]);

    expect(deleted.status).toBe(200);
    for (const { status } of others) expect([200, 401]).toContain(status);
    expect(await world.db.selectFrom("tokens").selectAll().where("user_id", "=", clerk.userId).execute()).toEqual([]);
  }
});

test("nobody deletes or restricts themselves", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  await world.colleague(owner.accountId);
  const path = `${USERS}/${owner.username}`;

  expect(await owner.delete(path)).toMatchObject({ status: 400 });
  expect(await owner.put(path, { restricted: true })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "restricted" }] },
  });

  expect(await owner.put(path, { restricted: false, email: "me@harbour.example" })).toMatchObject({ status: 200 });
});

// Each is allowed by itself; both together would leave no unrestricted user.
test.each([
  ["restrict", "restrict"],
  ["delete", "delete"],
  ["delete", "restrict"],
] as const)("two who %s and %s each other at once leave one unrestricted user", async (first, second) => {
  await using world = await newWorld();
  for (let round = 0; round < 8; round++) {
    const alice = await world.customer();
    const bob = await world.colleague(alice.accountId);
    const take = (by: typeof bob, from: typeof bob, how: "restrict" | "delete") =>
      how === "delete"
        ? by.delete(`${USERS}/${from.username}`)
        : by.put(`${USERS}/${from.username}`, { restricted: true });

    const replies = await Promise.all([take(alice, bob, first), take(bob, alice, second)]);

    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    const left = world.db.selectFrom("users").select("id").where("account_id", "=", alice.accountId);
    expect(await left.where("restricted", "=", false).execute()).toHaveLength(1);
  }
});

test("another address of a user with a password is asked to confirm it, the present one is notified and stays", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const clerk = await world.colleague(owner.accountId, { restricted: true });
  await world.db.updateTable("users").set({ password_hash: "x" }).where("id", "=", clerk.userId).execute();
  const [username, present] = [clerk.username, `${clerk.username}@test.example`];
  const path = `${USERS}/${username}`;
  expect(await owner.put(path, { email: present })).toMatchObject({ status: 200 });
  expect(await mailsOf(world)).toEqual([]);

  expect(await owner.put(path, { email: "two@harbour.example" })).toMatchObject({ body: { email: present } });
  expect(await clerk.put("/v4/profile", { email: "three@harbour.example" })).toMatchObject({
    body: { email: present },
  });

  const person = { accountId: owner.accountId, userId: clerk.userId };
  const notice = { kind: "notice", username, email: present, what: "address_requested" };
  expect(await mailsOf(world)).toEqual([
    { kind: "address", person, email: "two@harbour.example" },
    notice,
    { kind: "address", person, email: "three@harbour.example" },
    notice,
  ]);
});

test("confirmations of addresses count as invitations", async () => {
  await using world = await newWorld({ invitationsPerDay: 1 });
  const owner = await world.customer();
  await world.db.updateTable("users").set({ password_hash: "x" }).execute();
  await owner.put("/v4/profile", { email: "first@harbour.example" });

  expect(await owner.put("/v4/profile", { email: "next@harbour.example" })).toMatchObject({
    status: 400,
    body: { errors: [{ field: "email" }] },
  });
});

test("an account sends only so many invitations a day, and a refused one changes nothing", async () => {
  await using world = await newWorld({ invitationsPerDay: 2 });
  const owner = await world.customer();
  await owner.post(USERS, { username: "rob", email: "rob@harbour.example" });
  const move = (to: string) => owner.put(`${USERS}/rob`, { email: `${to}@harbour.example` });

  expect(await move("last")).toMatchObject({ status: 200 });
  expect(await move("next")).toMatchObject({ status: 400, body: { errors: [{ field: "email" }] } });
  expect((await owner.get<User>(`${USERS}/rob`)).body.email).toBe("last@harbour.example");
  const another = { username: "ann", email: "ann@harbour.example" };
  expect(await owner.post(USERS, another)).toMatchObject({ status: 400, body: { errors: [{ field: "email" }] } });
  expect((await owner.get(`${USERS}/ann`)).status).toBe(404);
  later(world, 86_400);
  expect(await move("next")).toMatchObject({ status: 200 });
});

test("an invitation to a wrong address is sent again to the right one, and the wrong one gets no further mail", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  await owner.post(USERS, { username: "rob", email: "rbo@harbour.example" });

  await owner.put(`${USERS}/rob`, { email: "rob@harbour.example" });

  expect((await mailsOf(world)).map(({ kind, email }) => [kind, email])).toEqual([
    ["invite", "rbo@harbour.example"],
    ["invite", "rob@harbour.example"],
  ]);
});

test.each([
  [{ username: "a b" }, "username"],
  [{ email: "nobody" }, "email"],
  [{ restricted: "yes" }, "restricted"],
])("a change to %j is refused at %s, and nothing of it is done", async (change, field) => {
  await using world = await newWorld();
  const owner = await world.customer();
  const rob = await world.colleague(owner.accountId);
  const before = (await owner.get(`${USERS}/${rob.username}`)).body;

  const reply = await owner.put(`${USERS}/${rob.username}`, { email: "new@harbour.example", ...change });

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field }] } });
  expect((await owner.get(`${USERS}/${rob.username}`)).body).toEqual(before);
  expect(await world.events()).toEqual([]);
});

test("users are filtered by name, and a user is found in any case", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  await owner.post(USERS, { username: "Rob", email: "rob@harbour.example" });

  const reply = await world.send({
    url: USERS,
    headers: { authorization: `Bearer ${owner.token}`, "x-filter": JSON.stringify({ username: "Rob" }) },
  });

  expect(reply.json()).toMatchObject({ results: 1, data: [{ username: "Rob" }] });
  expect(await owner.get(`${USERS}/rOB`)).toMatchObject({ status: 200, body: { username: "Rob" } });
});

test("the audit entry of a change contains no address", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  await owner.post(USERS, { username: "rob", email: "rob@harbour.example" });
  await owner.put(`${USERS}/rob`, { email: "two@harbour.example", username: "robert" });

  const lines = await world.db.selectFrom("audit").selectAll().where("account_id", "=", owner.accountId).execute();

  expect(lines.map(({ action, detail }) => [action, detail])).toEqual([
    ["create_user", { username: "rob", restricted: true }],
    ["update_user", { fields: ["username", "email"], was: "rob", is: "robert" }],
  ]);
});

test("a name in use and an invalid address are reported together", async () => {
  await using world = await newWorld();
  const alice = await world.customer();

  const reply = await alice.post("/v4/account/users", { username: alice.username.toUpperCase(), email: "nobody" });

  expect(reply).toMatchObject({ status: 400, body: { errors: [{ field: "email" }, { field: "username" }] } });
});
