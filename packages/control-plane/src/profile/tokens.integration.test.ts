import { type Event, type PersonalToken } from "@moorage/contract";
import { expect, test } from "vitest";
import { consent } from "#testing/consent.ts";
import { newWorld, type World } from "#testing/world.ts";
import { tokenTexts } from "./texts.ts";

const TOKENS = "/v4/profile/tokens";
type Page<Item> = { data: Item[]; results: number };
const timestamp = (at: Date): string => at.toISOString().slice(0, 19);
const inSeconds = (world: World, seconds: number): string =>
  timestamp(new Date(world.time.now.getTime() + seconds * 1000));

/** As their users do on the security page. */
const confirmAll = ({ db, time }: World): Promise<unknown> =>
  db
    .updateTable("tokens")
    .set({ confirmed_until: new Date(time.now.getTime() + 600_000) })
    .execute();

test("a token is shown in full once; after that its first 16 characters", async () => {
  await using world = await newWorld();
  const alice = await world.customer();

  const made = await alice.post<PersonalToken>(TOKENS, { label: "desk", scopes: "databases:read_only" });

  expect(made).toMatchObject({
    status: 200,
    body: { label: "desk", scopes: "databases:read_only", created: timestamp(world.time.now), expiry: null },
  });
  expect(made.body.token).toMatch(/^[0-9a-f]{64}$/);
  const shown = { ...made.body, token: made.body.token.slice(0, 16) };
  expect((await alice.get(`${TOKENS}/${made.body.id}`)).body).toEqual(shown);
  expect((await alice.put(`${TOKENS}/${made.body.id}`, {})).body).toEqual(shown);
  expect((await alice.get<Page<PersonalToken>>(TOKENS)).body.data[1]).toEqual(shown);
  expect(await world.as(made.body.token).get("/v4/databases/instances")).toMatchObject({ status: 200 });
});

test("the token is stored nowhere: neither in the audit log nor in the stored reply", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const send = () =>
    world.send({
      method: "POST",
      url: TOKENS,
      headers: { authorization: `Bearer ${alice.token}`, "idempotency-key": "k" },
      payload: { label: "once" },
    });

  const [first, second] = [(await send()).json<PersonalToken>(), (await send()).json<PersonalToken>()];

  expect(second).toEqual(first);
  expect((await alice.get<Page<PersonalToken>>(TOKENS)).body.results).toBe(2);
  const kept = [
    await world.db.selectFrom("audit").selectAll().execute(),
    await world.db.selectFrom("idempotency_keys").selectAll().execute(),
    await world.db.selectFrom("tokens").selectAll().execute(),
    await world.events(),
  ];
  expect(JSON.stringify(kept)).not.toContain(first.token);
});

const OWN = ["account:read_only", "account:read_write", "account:*"];
const DATABASES = ["databases:read_only", "databases:read_write", "databases:*"];
const OTHERS = ["events:read_only", "images:read_write", "linodes:read_only", "vpc:read_write"];
/** By hand: the scopes that a token with a scope may pass on. Each also has account:read_write, which is required. */
const mayHandOn: Record<string, string[]> = {
  "*": [...OWN, ...DATABASES, ...OTHERS],
  "account:read_write": OWN,
  "databases:read_only": [...OWN, "databases:read_only"],
  "databases:read_write": [...OWN, ...DATABASES],
  "events:read_only": [...OWN, "events:read_only"],
  "images:read_write": [...OWN, "images:read_write"],
  "computes:read_write": [...OWN, "linodes:read_only"],
};
const asKept = (scope: string): string => scope.replace("linodes", "computes").replace(":*", ":read_write");

test.each(Object.entries(mayHandOn))("a token with %s creates none with more rights", async (held, mayBe) => {
  await using world = await newWorld();
  const scopes = held === "*" ? ["*"] : [...new Set(["account:read_write", held])];
  const holder = await world.customer({ scopes });
  await confirmAll(world);

  const made: string[] = [];
  for (const requested of [...OWN, ...DATABASES, ...OTHERS]) {
    const reply = await holder.post(TOKENS, { scopes: requested });
    expect([200, 400]).toContain(reply.status);
    expect(JSON.stringify(reply.body)).toContain(reply.status === 200 ? requested : asKept(requested));
    // One scope that it may not have makes the whole list invalid.
    expect(await holder.post(TOKENS, { scopes: `account:read_only,${requested}` })).toMatchObject({
      status: reply.status,
    });
    if (reply.status === 200) made.push(requested);
  }
  expect(made).toEqual(mayBe);
  for (const same of ["*", `* ${OWN[0]}`, null, undefined])
    expect(await holder.post(TOKENS, { scopes: same })).toMatchObject({
      status: 200,
      body: { scopes: scopes.join(" ") },
    });
});

test("scopes are shown as they were sent, and have their canonical meaning", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const scopes = "linodes:read_only  databases:*,events:read_only";

  const { body } = await alice.post<PersonalToken>(TOKENS, { scopes });

  expect(body.scopes).toBe(scopes);
  expect((await alice.get(`${TOKENS}/${body.id}`)).body).toMatchObject({ scopes });
  const bearer = world.as(body.token);
  expect((await bearer.get("/v4/compute/instances")).status).toBe(200);
  expect((await bearer.create()).status).toBe(200);
  expect((await bearer.get("/v4/account")).status).toBe(401);
  const { headers } = await world.send({
    method: "GET",
    url: "/v4/profile",
    headers: { authorization: `Bearer ${body.token}` },
  });
  expect(headers["x-oauth-scopes"]).toBe("computes:read_only databases:read_write events:read_only");
});

test("a token with fewer scopes cannot regain more by creating another", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const small = await alice.post<PersonalToken>(TOKENS, { scopes: "account:read_write, databases:read_only" });
  const holder = world.as(small.body.token);
  await confirmAll(world);

  for (const scopes of [undefined, null, "*"]) {
    const { body } = await holder.post<PersonalToken>(TOKENS, { scopes });
    await confirmAll(world);
    expect(body.scopes).toBe("account:read_write databases:read_only");
    expect(await world.as(body.token).create()).toMatchObject({ status: 401 });
  }
  expect(await holder.post(TOKENS, { scopes: "databases:read_write" })).toMatchObject({ status: 400 });
});

test.each([
  [{ scopes: "databases:read_only moons:read_only" }, "scopes", "moons:read_only"],
  [{ scopes: "databases" }, "scopes", "databases"],
  [{ scopes: " , " }, "scopes", tokenTexts.scopesEmpty().text],
  [{ scopes: "" }, "scopes", tokenTexts.scopesEmpty().text],
  [{ scopes: 7 }, "scopes", "scopes such as"],
  [{ expiry: "2001-01-01T00:00:00" }, "expiry", "a future time"],
  [{ expiry: "tomorrow" }, "expiry", "a time such as"],
  [{ label: "" }, "label", "1 to 100"],
  [{ label: "x".repeat(101) }, "label", "1 to 100"],
])("a token with %j is refused at %s", async (body, field, reason) => {
  await using world = await newWorld();
  const alice = await world.customer();

  expect(await alice.post(TOKENS, body)).toMatchObject({
    status: 400,
    body: { errors: [{ field, reason: expect.stringContaining(reason) }] },
  });
  expect((await alice.get<Page<PersonalToken>>(TOKENS)).body.results).toBe(1);
  expect(await world.events()).toEqual([]);
});

test("a token ends when it expires, and is listed until it is deleted", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { token, id } = (await alice.post<PersonalToken>(TOKENS, { expiry: inSeconds(world, 60) })).body;

  world.time.now = new Date(world.time.now.getTime() + 59_000);
  expect(await world.as(token).get("/v4/profile")).toMatchObject({ status: 200 });
  world.time.now = new Date(world.time.now.getTime() + 1_000);
  expect(await world.as(token).get("/v4/profile")).toMatchObject({ status: 401 });

  expect(await alice.get(`${TOKENS}/${id}`)).toMatchObject({ status: 200, body: { label: "Personal access token" } });
});

test("a token can be renamed and deleted, even the calling one: its next request is 401", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { id, token } = (await alice.post<PersonalToken>(TOKENS, { label: "desk" })).body;
  const desk = world.as(token);

  expect(await desk.put(`${TOKENS}/${id}`, { label: "shelf", scopes: "*", token: "x" })).toMatchObject({
    status: 200,
    body: { label: "shelf" },
  });
  expect(await desk.delete(`${TOKENS}/${id}`)).toMatchObject({ status: 200, body: {} });

  expect(await desk.get("/v4/profile")).toMatchObject({ status: 401 });
  for (const reply of [
    await alice.get(`${TOKENS}/${id}`),
    await alice.put(`${TOKENS}/${id}`, { label: "again" }),
    await alice.delete(`${TOKENS}/${id}`),
  ])
    expect(reply).toMatchObject({ status: 404 });
  expect((await alice.get<Page<PersonalToken>>(TOKENS)).body.results).toBe(1);
  const { data } = (await alice.get<Page<Event>>("/v4/account/events")).body;
  expect(data.map(({ action, entity }) => [action, entity?.id, entity?.label])).toEqual([
    ["token_delete", id, "shelf"],
    ["token_update", id, "shelf"],
    ["token_create", id, "desk"],
  ]);
  expect((await world.audit()).map(({ action }) => action)).toEqual(["create_token", "update_token", "delete_token"]);
});

test("a restricted user has tokens too, with the user's rights", async () => {
  await using world = await newWorld();
  const clerk = await world.customer({ restricted: true });

  const { body } = await clerk.post<PersonalToken>(TOKENS, { scopes: "*" });

  expect(body.scopes).toBe("*");
  expect(await world.as(body.token).get("/v4/account/users")).toMatchObject({ status: 403 });
});

test("tokens of apps are not in the user's list", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const { id: client } = (
    await alice.post<{ id: string }>("/v4/account/oauth-clients", { label: "a", redirect_uri: "https://a.example/" })
  ).body;
  await consent(world, alice, client, { tokens: 3 });
  const [row] = await world.db.selectFrom("tokens").select("id").where("app_grant_id", "is not", null).execute();

  expect((await alice.get<Page<PersonalToken>>(TOKENS)).body).toMatchObject({ results: 1 });
  expect(await alice.get(`${TOKENS}/${row?.id}`)).toMatchObject({ status: 404 });
  expect(await alice.delete(`${TOKENS}/${row?.id}`)).toMatchObject({ status: 404 });
});

// A revoked token may be cached for a moment. A token that it created in that moment would outlive it.
test("nothing is created by a token that was just revoked, though it is still cached", async () => {
  await using world = await newWorld({ rememberTokens: true });
  const alice = await world.customer();
  const holder = world.as((await alice.post<PersonalToken>(TOKENS, {})).body.token);
  expect(await holder.post(TOKENS, {})).toMatchObject({ status: 200 });

  // As another process does it, before its notification arrives.
  await world.db.updateTable("tokens").set({ revoked_at: world.time.now }).execute();

  expect(await holder.get("/v4/profile")).toMatchObject({ status: 200 });
  expect(await holder.post(TOKENS, {})).toMatchObject({ status: 401 });
});

test("tokens are filtered by label and creation", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  await alice.post(TOKENS, { label: "desk" });
  const list = async (filter: object) =>
    (
      await world.send({
        url: TOKENS,
        headers: { authorization: `Bearer ${alice.token}`, "x-filter": JSON.stringify(filter) },
      })
    ).json<Page<PersonalToken>>().results;

  expect(await list({ label: "desk" })).toBe(1);
  expect(await list({ created: { "+gt": inSeconds(world, 1) } })).toBe(0);
});
