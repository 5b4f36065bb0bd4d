import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import type { OAuthClient } from "@moorage/contract";
import { createAuthenticate, createTokenCache } from "#identity/index.ts";
import { createDb, createPool } from "#platform/db/database.ts";
import { consent } from "#testing/consent.ts";
import { untilDead, startProcess } from "#testing/listening-process.ts";
import { newWorld, type World } from "#testing/world.ts";

const CLIENTS = "/v4/account/oauth-clients";

/** An app of one account, a user of another who authorized it, and two processes that cache its token. */
async function newFixture(world: World) {
  const alice = await world.customer();
  const bob = await world.customer();
  const made = await alice.post<OAuthClient>(CLIENTS, {
    label: "An app",
    redirect_uri: "https://app.example.com/back",
  });
  const { id } = made.body;
  const { token, appGrantId } = await consent(world, bob, id);
  const processes = [await startProcess(world), await startProcess(world)];
  const accepted = (which: string) => Promise.all(processes.map(({ accepts }) => accepts(which)));
  expect(await accepted(token)).toEqual([true, true]);
  return {
    alice,
    bob,
    id,
    token,
    appGrantId,
    accepted,
    url: `${CLIENTS}/${id}`,
    untilDead: () => Promise.all(processes.map(({ accepts }) => untilDead(accepts, token))),
    async [Symbol.asyncDispose]() {
      for (const each of processes) await each[Symbol.asyncDispose]();
    },
  };
}
type Fixture = Awaited<ReturnType<typeof newFixture>>;

describe("in every process an app's tokens end", () => {
  const endings: Record<string, (world: World, fixture: Fixture) => Promise<{ status: number }>> = {
    "when its client is deleted": (_, { alice, url }) => alice.delete(url),
    "when its client becomes public": (_, { alice, url }) => alice.put(url, { public: true }),
    "when its client leads elsewhere": (_, { alice, url }) =>
      alice.put(url, { redirect_uri: "https://elsewhere.example.com/" }),
    "when its client is renamed": (_, { alice, url }) => alice.put(url, { label: "Moorage Console" }),
    "when the operator disables its client": ({ operator }, { id }) =>
      operator.post(`/admin/oauth-clients/${id}/status`, { status: "disabled" }),
    "when the operator suspends its client": ({ operator }, { id }) =>
      operator.post(`/admin/oauth-clients/${id}/status`, { status: "suspended" }),
    "when its user takes back what it may do": (_, { bob, appGrantId }) => bob.delete(`/v4/profile/apps/${appGrantId}`),
  };

  test.each(Object.entries(endings))("%s", async (_, end) => {
    await using world = await newWorld();
    await using fixture = await newFixture(world);

    expect(await end(world, fixture)).toMatchObject({ status: 200 });

    await fixture.untilDead();
    expect(await fixture.accepted(fixture.bob.token)).toEqual([true, true]);
    expect(await fixture.accepted(fixture.alice.token)).toEqual([true, true]);
  });
});

describe("an app's tokens stay valid", () => {
  test("when its client is changed to what it was, or gets a new secret", async () => {
    await using world = await newWorld();
    await using fixture = await newFixture(world);

    await fixture.alice.put(fixture.url, { label: "An app", public: false });
    await fixture.alice.post(`${fixture.url}/reset-secret`);

    expect(await fixture.accepted(fixture.token)).toEqual([true, true]);
  });

  test("when its client is enabled again", async () => {
    await using world = await newWorld();
    await using fixture = await newFixture(world);
    const set = (status: string) => world.operator.post(`/admin/oauth-clients/${fixture.id}/status`, { status });

    await set("suspended");
    await fixture.untilDead();
    await set("active");

    expect(await fixture.accepted(fixture.token)).toEqual([true, true]);
  });

  test("but not when `public` is changed and changed back", async () => {
    await using world = await newWorld();
    await using fixture = await newFixture(world);

    await fixture.alice.put(fixture.url, { public: true });
    expect(await fixture.alice.put(fixture.url, { public: false })).toMatchObject({ body: { public: false } });

    await fixture.untilDead();
  });
});

/** Rows written by committed transactions, in the whole database. */
async function written({ db }: World, tables: readonly string[]): Promise<number> {
  await sql`select pg_stat_force_next_flush()`.execute(db);
  const { rows } = await sql<{ changed: number }>`
    select coalesce(sum(n_tup_upd + n_tup_del), 0)::int as changed
    from pg_stat_user_tables where relname = any(${tables})`.execute(db);
  return rows[0]?.changed ?? 0;
}

test("deleting a client ends its 1,000 tokens by writing one row", async () => {
  await using world = await newWorld();
  await using fixture = await newFixture(world);
  const { all } = await consent(world, fixture.bob, fixture.id, { tokens: 1000 });
  const tables = ["oauth_clients", "app_grants", "tokens", "oauth_client_thumbnails", "auth_records"];
  await expect.poll(() => written(world, tables)).toBe(0);

  await fixture.alice.delete(fixture.url);

  await expect.poll(() => written(world, tables)).toBe(1);
  // Statistics are queued in order: everything before this write has been counted.
  await world.db.updateTable("accounts").set({ company: "Other" }).execute();
  expect(await written(world, tables)).toBe(1);
  await fixture.untilDead();
  expect((await Promise.all(all.map(fixture.accepted))).flat()).not.toContain(true);
});

test("a token is looked up by indexes alone", async () => {
  await using world = await newWorld();
  const { token } = await world.customer();
  // One connection, so that its prepared statements can be inspected.
  const db = createDb(createPool(world.databaseUrl, 1));
  const clock = () => new Date();
  await createAuthenticate({ db, clock, tokens: createTokenCache(clock) })(`Bearer ${token}`);
  const prepared = await sql<{ statement: string }>`
    select statement from pg_prepared_statements where name = 'token-by-hash'`.execute(db);

  // The tables are small: with sequential scans off, only a missing index leaves one.
  await sql`set enable_seqscan = off`.execute(db);
  const statement = sql.raw(`explain (generic_plan) ${prepared.rows[0]?.statement}`);
  const plan = await sql<{ "QUERY PLAN": string }>`${statement}`.execute(db);
  await db.destroy();

  const scan = /(\w+) Scan\b.* on (\w+)/;
  const scans = plan.rows.flatMap((line) => scan.exec(line["QUERY PLAN"])?.slice(1).join(" on ") ?? []);
  expect(scans.toSorted()).toEqual(
    ["accounts", "accounts", "app_grants", "oauth_clients", "tokens", "users"].map((table) => `Index on ${table}`),
  );
});
