import { type Profile } from "@moorage/contract";
import { expect, test } from "vitest";
import { consent } from "#testing/consent.ts";
import { newWorld, type World } from "#testing/world.ts";

const THIEF = "thief@harbour.example";
type Customer = Awaited<ReturnType<World["customer"]>>;

/** A leaked token: personal with one scope, or of an app that the user gave every scope. */
const leaked = {
  "personal token with account:read_write": async (world: World, { accountId, username }: Customer) => {
    const path = `/admin/accounts/${accountId}/users/${username}/tokens`;
    const made = await world.operator.post<{ token: string }>(path, { label: "ci", scopes: ["account:read_write"] });
    return made.body.token;
  },
  "token of an app with every scope": async (world: World, alice: Customer) => {
    const app = { label: "Planner", redirect_uri: "https://planner.example/" };
    const { body } = await alice.post<{ id: string }>("/v4/account/oauth-clients", app);
    return (await consent(world, alice, body.id)).token;
  },
};

/** Each leads to the whole account: a link for a new password, or a further user or token. */
const doors = ({ username }: Customer, clerk: string) =>
  [
    ["PUT", "/v4/profile", { email: THIEF }],
    ["POST", "/v4/profile/tfa-enable", undefined],
    ["POST", "/v4/profile/tfa-enable-confirm", { tfa_code: "123456" }],
    ["POST", "/v4/profile/tfa-disable", undefined],
    ["POST", "/v4/profile/tokens", { label: "more", scopes: "*" }],
    ["POST", "/v4/account/users", { username: "helpdesk", email: THIEF, restricted: false }],
    ["PUT", `/v4/account/users/${username}`, { email: THIEF }],
    ["PUT", `/v4/account/users/${clerk}/grants`, { global: { account_access: "read_write" } }],
    ["PUT", `/v4/account/users/${clerk}`, { restricted: false }],
    ["DELETE", `/v4/account/users/${clerk}`, undefined],
  ] as const;

test.each(Object.keys(leaked) as (keyof typeof leaked)[])("a %s cannot take over the account", async (kind) => {
  await using world = await newWorld();
  const alice = await world.customer();
  const clerk = await world.colleague(alice.accountId, { restricted: true });
  const token = await leaked[kind](world, alice);
  await world.db.updateTable("users").set({ tfa_enabled_at: world.time.now }).execute();
  const state = async () => ({
    users: await world.db.selectFrom("users").selectAll().orderBy("id").execute(),
    tokens: await world.db.selectFrom("tokens").selectAll().orderBy("id").execute(),
    mails: await world.db.selectFrom("mails").select("id").execute(),
  });
  const before = await state();

  for (const [method, url, payload] of doors(alice, clerk.username)) {
    const headers = { authorization: `Bearer ${token}` };
    const reply = await world.send({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
    expect([method, url, reply.statusCode]).toEqual([method, url, 401]);
  }

  expect(await state()).toEqual(before);
});

test("a token that is not confirmed changes the rest of the profile, also with the address as it is", async () => {
  await using world = await newWorld();
  const alice = await world.customer({ scopes: ["account:read_write"] });
  const { email } = (await alice.get<Profile>("/v4/profile")).body;

  expect(await alice.put("/v4/profile", { email, timezone: "Europe/Berlin" })).toMatchObject({
    status: 200,
    body: { email, timezone: "Europe/Berlin" },
  });
});

test("a personal token with every scope needs no confirmation", async () => {
  await using world = await newWorld();
  const alice = await world.customer();
  const clerk = await world.colleague(alice.accountId, { restricted: true });

  const given = doors(alice, clerk.username).filter(([, url]) => !url.includes("/tfa-enable-confirm"));
  for (const [method, url, payload] of given) {
    const headers = { authorization: `Bearer ${alice.token}` };
    const reply = await world.send({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
    expect([method, url, reply.statusCode]).toEqual([method, url, 200]);
  }
});
