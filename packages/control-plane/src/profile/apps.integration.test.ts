import type { AuthorizedApp } from "@moorage/contract";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { consent } from "#testing/consent.ts";
import { refusalOf } from "#testing/refusal-of.ts";
import { newWorld, PUBLIC_URL, type World } from "#testing/world.ts";

const APPS = "/v4/profile/apps";
const CLIENTS = "/v4/account/oauth-clients";
type Page = { data: AuthorizedApp[]; results: number };

/** A user, and an app of another account that they can authorize. */
async function newApp(world: World, redirect_uri = "https://charts.example:8443/callback?x=1") {
  const [alice, maker] = [await world.customer(), await world.customer()];
  const { body } = await maker.post<{ id: string }>(CLIENTS, { label: "Chart room", redirect_uri });
  const list = async () => (await alice.get<Page>(APPS)).body;
  return { alice, maker, client: body.id, list };
}

test("an app that a user authorized is listed for that user, with its scopes", async () => {
  await using world = await newWorld();
  const { alice, client, list } = await newApp(world);
  const colleague = await world.colleague(alice.accountId);
  const { appGrantId } = await consent(world, alice, client, { scopes: ["databases:read_only", "events:read_only"] });

  const { data, results } = await list();

  expect(results).toBe(1);
  expect(data).toEqual([
    {
      id: appGrantId,
      label: "Chart room",
      scopes: "databases:read_only events:read_only",
      created: world.time.now.toISOString().slice(0, 19),
      expiry: new Date(world.time.now.getTime() + 14 * 86_400_000).toISOString().slice(0, 19),
      thumbnail_url: null,
      website: "https://charts.example:8443",
    },
  ]);
  expect((await alice.get(`${APPS}/${appGrantId}`)).body).toEqual(data[0]);
  expect((await colleague.get<Page>(APPS)).body).toMatchObject({ data: [], results: 0 });
});

test("the thumbnail of an app has a public address; an app without a website has none", async () => {
  await using world = await newWorld();
  const { alice, client, list } = await newApp(world, "http://127.0.0.1:8080/");
  await consent(world, alice, client);
  await world.db
    .insertInto("oauth_client_thumbnails")
    .values({ client_id: client, png: Buffer.from("png"), updated_at: world.time.now })
    .execute();

  expect((await list()).data).toMatchObject([
    { thumbnail_url: `${PUBLIC_URL}${CLIENTS}/${client}/thumbnail`, website: null },
  ]);
});

test("revoking an app ends all its tokens at once, by writing one row", async () => {
  await using world = await newWorld();
  const { alice, client, list } = await newApp(world);
  const { appGrantId, all } = await consent(world, alice, client, { tokens: 200 });
  const other = await consent(world, alice, client);
  const rows = async () => {
    const { rows: found } = await sql<{ name: string; xmin: string; id: number }>`
      select 'app_grants' as name, xmin::text, id from app_grants union all
      select 'tokens', xmin::text, id from tokens`.execute(world.db);
    return found;
  };
  const before = await rows();

  expect(await alice.delete(`${APPS}/${appGrantId}`)).toMatchObject({ status: 200, body: {} });

  const known = new Set(before.map((row) => JSON.stringify(row)));
  expect((await rows()).filter((row) => !known.has(JSON.stringify(row)))).toMatchObject([
    { name: "app_grants", id: appGrantId },
  ]);
  for (const token of all.slice(0, 5)) expect(await world.as(token).get("/v4/profile")).toMatchObject({ status: 401 });
  expect(await world.as(other.token).get("/v4/profile")).toMatchObject({ status: 200 });
  expect((await list()).data.map(({ id }) => id)).toEqual([other.appGrantId]);
  for (const reply of [await alice.get(`${APPS}/${appGrantId}`), await alice.delete(`${APPS}/${appGrantId}`)])
    expect(reply).toMatchObject({ status: 404 });
  const events = (await world.events()).filter(({ account_id }) => account_id === alice.accountId);
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({
    action: "token_delete",
    entity_type: "token",
    entity_label: "Chart room",
    entity_url: `${APPS}/${appGrantId}`,
  });
  expect((await world.audit()).at(-1)).toMatchObject({ action: "revoke_app", target: `app/${appGrantId}` });
});

test("a colleague's and a stranger's apps are not found, and keep their access", async () => {
  await using world = await newWorld();
  const { alice, maker, client, list } = await newApp(world);
  const colleague = await world.colleague(alice.accountId);
  const { appGrantId } = await consent(world, alice, client);

  for (const other of [colleague, maker]) {
    const missing = refusalOf(await other.get(`${APPS}/987654321`), 987_654_321, appGrantId);
    expect(await other.get(`${APPS}/${appGrantId}`)).toMatchObject({ status: 404, body: missing });
    expect(await other.delete(`${APPS}/${appGrantId}`)).toMatchObject({ status: 404, body: missing });
  }

  expect((await list()).results).toBe(1);
});

test.each([
  ["expired", async (world: World) => void (world.time.now = new Date(world.time.now.getTime() + 15 * 86_400_000))],
  [
    "got its client deleted",
    (world: World) => world.db.updateTable("oauth_clients").set({ deleted_at: world.time.now }).execute(),
  ],
  [
    "got its client changed for good",
    (world: World) =>
      world.db
        .updateTable("oauth_clients")
        .set(({ eb }) => ({ epoch: eb("epoch", "+", 1) }))
        .execute(),
  ],
])("an app that has %s is not listed", async (_name, end) => {
  await using world = await newWorld();
  const { alice, client, list } = await newApp(world);
  const { appGrantId } = await consent(world, alice, client);
  expect((await list()).results).toBe(1);

  await end(world);

  expect((await list()).results).toBe(0);
  expect(await alice.delete(`${APPS}/${appGrantId}`)).toMatchObject({ status: 404 });
});

// It would have access again as soon as the operator enables it.
test("an app that the operator disabled is listed and can be revoked for good", async () => {
  await using world = await newWorld();
  const { alice, client, list } = await newApp(world);
  const { appGrantId, token } = await consent(world, alice, client);
  const set = (status: "suspended" | "active") => world.db.updateTable("oauth_clients").set({ status }).execute();
  await set("suspended");
  expect((await list()).results).toBe(1);

  expect(await alice.delete(`${APPS}/${appGrantId}`)).toMatchObject({ status: 200 });

  await set("active");
  expect(await world.as(token).get("/v4/profile")).toMatchObject({ status: 401 });
});

test("apps are filtered by label, creation and expiry", async () => {
  await using world = await newWorld();
  const { alice, client } = await newApp(world);
  await consent(world, alice, client);
  const count = async (filter: object) =>
    (
      await world.send({
        url: APPS,
        headers: { authorization: `Bearer ${alice.token}`, "x-filter": JSON.stringify(filter) },
      })
    ).json<Page>().results;

  expect(await count({ label: { "+contains": "chart" } })).toBe(1);
  expect(await count({ expiry: { "+lt": world.time.now.toISOString().slice(0, 19) } })).toBe(0);
  expect(await count({ created: { "+lte": world.time.now.toISOString().slice(0, 19) }, label: "other" })).toBe(0);
});
