import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Event, OAuthClient } from "@moorage/contract";
import { sha256 } from "#platform/sha256.ts";
import { newWorld, type World } from "#testing/world.ts";

const CLIENTS = "/v4/account/oauth-clients";
const REDIRECT = "https://app.example.com/back";

let world: World;
beforeAll(async () => {
  world = await newWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

type Customer = Awaited<ReturnType<World["customer"]>>;

const register = async (alice: Customer, change: object = {}) =>
  (await alice.post<OAuthClient>(CLIENTS, { label: "An app", redirect_uri: REDIRECT, ...change })).body;

const row = (id: string) =>
  world.db.selectFrom("oauth_clients").selectAll().where("id", "=", id).executeTakeFirstOrThrow();

const eventsOf = async (alice: Customer): Promise<Event[]> =>
  (await alice.get<{ data: Event[] }>("/v4/account/events")).body.data;

const withKey = (alice: Customer, url: string, body: object | undefined, key: string) =>
  world.send({
    method: "POST",
    url,
    headers: {
      authorization: `Bearer ${alice.token}`,
      "idempotency-key": key,
      ...(body && { "content-type": "application/json" }),
    },
    ...(body && { payload: JSON.stringify(body) }),
  });

describe("the secret", () => {
  test.each([false, true])(
    "is shown once, when a client is created (public: %s), and stored only as a hash",
    async (open) => {
      const alice = await world.customer();

      const made = await alice.post<OAuthClient>(CLIENTS, { label: "An app", redirect_uri: REDIRECT, public: open });

      expect(made).toMatchObject({
        status: 200,
        body: {
          id: expect.stringMatching(/^[0-9a-f]{20}$/),
          label: "An app",
          public: open,
          redirect_uri: REDIRECT,
          secret: expect.stringMatching(/^[0-9a-f]{64}$/),
          status: "active",
          thumbnail_url: null,
        },
      });
      const { id, secret } = made.body;
      const redacted = { ...made.body, secret: "<REDACTED>" };
      expect((await alice.get(`${CLIENTS}/${id}`)).body).toEqual(redacted);
      expect((await alice.get<{ data: unknown }>(CLIENTS)).body.data).toEqual([redacted]);
      expect((await alice.put(`${CLIENTS}/${id}`, { label: "An app" })).body).toEqual(redacted);
      expect((await row(id)).secret_sha256).toEqual(sha256(secret));
      expect(JSON.stringify([await world.events(), await auditOf(id)])).not.toContain(secret);
    },
  );

  test("is replaced by a reset, on either path", async () => {
    const alice = await world.customer();
    const { id, secret } = await register(alice);
    const seen = [secret];

    for (const path of ["reset-secret", "reset_secret"]) {
      const { status, body } = await alice.post<OAuthClient>(`${CLIENTS}/${id}/${path}`);
      expect(status).toBe(200);
      expect(body).toMatchObject({ id, label: "An app", secret: expect.stringMatching(/^[0-9a-f]{64}$/) });
      expect((await row(id)).secret_sha256).toEqual(sha256(body.secret));
      seen.push(body.secret);
    }
    expect(new Set(seen).size).toBe(3);
  });

  test("is repeated to a request with the same key, and nothing is done twice", async () => {
    const alice = await world.customer();
    const body = { label: "An app", redirect_uri: REDIRECT };

    const made = await withKey(alice, CLIENTS, body, "make it");
    expect((await withKey(alice, CLIENTS, body, "make it")).json()).toEqual(made.json());
    expect((await withKey(alice, CLIENTS, { ...body, public: true }, "make it")).statusCode).toBe(400);
    const { id } = made.json<OAuthClient>();
    const reset = await withKey(alice, `${CLIENTS}/${id}/reset-secret`, undefined, "reset it");
    expect((await withKey(alice, `${CLIENTS}/${id}/reset-secret`, undefined, "reset it")).json()).toEqual(reset.json());

    expect((await alice.get(CLIENTS)).body).toMatchObject({ results: 1 });
    expect((await row(id)).secret_sha256).toEqual(sha256(reset.json<OAuthClient>().secret));
    expect((await eventsOf(alice)).length).toBe(2);
    const kept = await world.db.selectFrom("idempotency_keys").select("reply").execute();
    for (const { secret } of [made.json<OAuthClient>(), reset.json<OAuthClient>()])
      expect(JSON.stringify(kept)).not.toContain(secret);
  });
});

describe("a change", () => {
  test("affects the named fields, and emits an event even if nothing changes", async () => {
    const alice = await world.customer();
    const { id } = await register(alice);

    expect((await alice.put(`${CLIENTS}/${id}`, { label: "Renamed" })).body).toMatchObject({
      label: "Renamed",
      redirect_uri: REDIRECT,
      public: false,
    });
    expect((await alice.put(`${CLIENTS}/${id}`, { redirect_uri: "com.example.app:/back" })).body).toMatchObject({
      label: "Renamed",
      redirect_uri: "com.example.app:/back",
    });
    expect((await alice.put(`${CLIENTS}/${id}`, {})).status).toBe(200);

    expect(await eventsOf(alice)).toMatchObject([
      ...Array.from({ length: 3 }, () => ({ action: "oauth_client_update", status: "notification" })),
      { action: "oauth_client_create" },
    ]);
  });

  test("of `public`, the label and the redirect URI ends all tokens; the same values do not", async () => {
    const alice = await world.customer();
    const { id } = await register(alice);
    const epochAfter = async (change: object): Promise<number> => {
      expect((await alice.put(`${CLIENTS}/${id}`, change)).status).toBe(200);
      return (await row(id)).epoch;
    };

    expect(await epochAfter({ public: false, label: "An app", redirect_uri: REDIRECT })).toBe(1);
    expect(await epochAfter({ public: true })).toBe(2);
    expect(await epochAfter({ public: true })).toBe(2);
    expect(await epochAfter({ public: false })).toBe(3);
    expect(await epochAfter({ redirect_uri: "https://elsewhere.example.com/" })).toBe(4);
    expect(await epochAfter({ label: "Other" })).toBe(5);
  });

  test.each([
    ["an empty label", { label: "" }],
    ["a label of 513 characters", { label: "x".repeat(513) }],
    ["a number as its label", { label: 7 }],
    ["a label that begins with a space", { label: " An app" }],
    ["a label of two lines", { label: "An app\nby your bank" }],
    ["a label that turns text around", { label: "\u202eppa nA" }],
    ["http elsewhere", { redirect_uri: "http://app.example.com/" }],
    ["an address of more than 2048 characters", { redirect_uri: `https://app.example.com/${"x".repeat(2048)}` }],
    ["no address", { redirect_uri: null }],
    ["a word for yes", { public: "yes" }],
  ])("to %s is refused, on creation and on update", async (_, change) => {
    const [field] = Object.keys(change);
    const alice = await world.customer();
    const { id } = await register(alice);
    const expected = {
      status: 400,
      body: { errors: [{ field, reason: expect.stringContaining(`${field} must be a valid value: `) }] },
    };

    expect(await alice.post(CLIENTS, { label: "x", redirect_uri: REDIRECT, ...change })).toMatchObject(expected);
    expect(await alice.put(`${CLIENTS}/${id}`, change)).toMatchObject(expected);
    expect(await eventsOf(alice)).toHaveLength(1);
  });

  test("cannot set what is not the tenant's to set", async () => {
    const alice = await world.customer();
    const { id } = await register(alice);
    const before = await row(id);

    const reply = await alice.put(`${CLIENTS}/${id}`, {
      id: "0".repeat(20),
      secret: "mine",
      status: "suspended",
      epoch: 9,
      may_add_query: true,
      account_id: 1,
      thumbnail_url: "https://evil.example",
    });

    expect(reply.status).toBe(200);
    expect(await row(id)).toEqual(before);
  });

  test("leaves an event and an audit entry that name the client", async () => {
    const alice = await world.customer();
    const { id } = await register(alice);
    const url = `${CLIENTS}/${id}`;

    await alice.put(url, { label: "Renamed" });
    await alice.post(`${url}/reset-secret`);
    await alice.delete(url);

    expect(await eventsOf(alice)).toMatchObject(
      [
        ["oauth_client_delete", "Renamed"],
        ["oauth_client_secret_reset", "Renamed"],
        ["oauth_client_update", "Renamed"],
        ["oauth_client_create", "An app"],
      ].map(([action, label]) => ({
        action,
        status: "notification",
        username: alice.username,
        entity: { id, type: "oauth_client", label, url },
      })),
    );
    expect(await auditOf(id)).toEqual([
      { action: "create_oauth_client", detail: {}, actor: alice.username },
      { action: "update_oauth_client", detail: { fields: ["label"] }, actor: alice.username },
      { action: "reset_oauth_client_secret", detail: {}, actor: alice.username },
      { action: "delete_oauth_client", detail: {}, actor: alice.username },
    ]);
  });
});

const auditOf = (id: string) =>
  world.db
    .selectFrom("audit")
    .select(["action", "detail", "actor"])
    .where("target", "=", `oauth_client/${id}`)
    .orderBy("id")
    .execute();

test("a deleted client is not found anywhere", async () => {
  const alice = await world.customer();
  const kept = await register(alice, { label: "Kept" });
  const { id } = await register(alice);

  expect(await alice.delete(`${CLIENTS}/${id}`)).toMatchObject({ status: 200, body: {} });

  const url = `${CLIENTS}/${id}`;
  const replies = [
    await alice.get(url),
    await alice.put(url, { label: "x" }),
    await alice.delete(url),
    await alice.post(`${url}/reset-secret`),
    await world.anonymous.get(`${url}/thumbnail`),
    await alice.get(`${CLIENTS}/${"0".repeat(20)}`),
  ];
  for (const reply of replies)
    expect(reply).toMatchObject({
      status: 404,
      body: { errors: [{ reason: expect.stringMatching(/^Not found: there is no /) }] },
    });
  expect((await alice.get(CLIENTS)).body).toMatchObject({ data: [{ id: kept.id }], results: 1 });
});

test("a missing client is reported before an invalid body", async () => {
  const alice = await world.customer();
  const { id } = await register(await world.customer());

  for (const other of [id, "0".repeat(20)])
    expect(await alice.put(`${CLIENTS}/${other}`, { label: "" })).toMatchObject({ status: 404 });
});

test("clients are listed in order of creation, filtered, and one page at a time", async () => {
  const alice = await world.customer();
  const made: string[] = [];
  for (let n = 0; n < 30; n++) {
    world.time.now = new Date(world.time.now.getTime() + 1000);
    made.push((await register(alice, { label: `App ${n}`, public: n % 2 === 0 })).id);
  }
  await register(await world.customer());
  const ids = ({ body }: { body: { data: OAuthClient[] } }) => body.data.map(({ id }) => id);
  const list = alice.get<{ data: OAuthClient[] }>;

  expect(ids(await list(CLIENTS))).toEqual(made);
  expect(ids(await list(`${CLIENTS}?page=2&page_size=25`))).toEqual(made.slice(25));
  const filtered = await world.send({
    url: CLIENTS,
    headers: {
      authorization: `Bearer ${alice.token}`,
      "x-filter": JSON.stringify({ public: true, label: { "+contains": "App 1" } }),
    },
  });
  expect(filtered.json()).toMatchObject({ results: 5 });
});

test("a restricted user needs account_read to view, and account_write to change", async () => {
  const alice = await world.customer();
  const { id } = await register(alice);
  const rob = await world.colleague(alice.accountId, { restricted: true });
  const grant = (global: object) =>
    world.operator.post(`/admin/accounts/${alice.accountId}/users/${rob.username}/grants`, { global });
  const statuses = async () =>
    Promise.all([
      rob.get(CLIENTS).then(({ status }) => status),
      rob.get(`${CLIENTS}/${id}`).then(({ status }) => status),
      rob.put(`${CLIENTS}/${id}`, {}).then(({ status }) => status),
      rob.post(`${CLIENTS}/${id}/reset-secret`).then(({ status }) => status),
    ]);

  expect(await statuses()).toEqual([403, 403, 403, 403]);
  await grant({ account_read: true });
  expect(await statuses()).toEqual([200, 200, 403, 403]);
  await grant({ account_write: true });
  expect(await statuses()).toEqual([200, 200, 200, 200]);
});

describe("the operator", () => {
  test("lists the clients of all accounts, or of one, without a secret", async () => {
    const [alice, bob] = [await world.customer(), await world.customer()];
    const [hers, his] = [await register(alice), await register(bob)];
    const gone = await register(alice);
    await alice.delete(`${CLIENTS}/${gone.id}`);

    const every = await world.operator.get<{ data: OAuthClient[] }>("/admin/oauth-clients?page_size=500");
    const ids = every.body.data.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining([hers.id, his.id]));
    expect(ids).not.toContain(gone.id);
    const one = await world.operator.get(`/admin/oauth-clients?account=${alice.accountId}`);
    expect(one).toMatchObject({
      status: 200,
      body: { data: [{ id: hers.id, account: alice.accountId, status: "active", may_add_query: false }], results: 1 },
    });
    expect(JSON.stringify(one.body)).not.toContain("secret");
    expect(await world.operator.get("/admin/oauth-clients?account=4")).toMatchObject({ status: 404 });
  });

  test("sets a client's status and trust; its account gets an event, and the audit log an entry", async () => {
    const alice = await world.customer();
    const { id } = await register(alice);
    const set = (what: string, body: object) => world.operator.post(`/admin/oauth-clients/${id}/${what}`, body);

    for (const status of ["suspended", "disabled", "active"] as const) {
      expect(await set("status", { status })).toMatchObject({ status: 200, body: { id, status } });
      expect((await alice.get(`${CLIENTS}/${id}`)).body).toMatchObject({ status });
    }
    expect(await set("trust", { may_add_query: true })).toMatchObject({ body: { may_add_query: true } });
    expect((await eventsOf(alice)).slice(0, 4)).toMatchObject([
      {
        username: null,
        action: "oauth_client_update",
        entity: { id },
        message: expect.stringContaining("allows this OAuth client to add"),
      },
      { message: "The operator set the status of this OAuth client to active." },
      { message: "The operator set the status of this OAuth client to disabled." },
      { message: "The operator set the status of this OAuth client to suspended." },
    ]);
    const lines = await world.db.selectFrom("audit").select("detail").where("actor", "=", "operator").execute();
    expect(lines.slice(-4).map(({ detail }) => detail)).toEqual([
      ...["suspended", "disabled", "active"].map((status) => ({ status })),
      { may_add_query: true },
    ]);
  });

  test("gets an error for an unknown client, and for an unknown status", async () => {
    const alice = await world.customer();
    const { id } = await register(alice);
    const status = (client: string, body: object) => world.operator.post(`/admin/oauth-clients/${client}/status`, body);

    expect(await status(id, { status: "deleted" })).toMatchObject({
      status: 400,
      body: { errors: [{ field: "status" }] },
    });
    await alice.delete(`${CLIENTS}/${id}`);
    for (const none of [id, "x"])
      expect(await status(none, { status: "active" })).toMatchObject({
        status: 404,
        body: { errors: [{ reason: `No OAuth client has the id ${none}. See: moorage admin oauth-client list` }] },
      });
  });
});
