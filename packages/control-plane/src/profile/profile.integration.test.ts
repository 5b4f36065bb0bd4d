import type { Event, Profile } from "@moorage/contract";
import { expect, test } from "vitest";
import { refusalOf } from "#testing/refusal-of.ts";
import { newWorld } from "#testing/world.ts";

const PROFILE = "/v4/profile";
const PREFERENCES = "/v4/profile/preferences";

test("any token shows its user's profile, whatever its scopes", async () => {
  await using world = await newWorld();
  const clerk = await world.customer({ restricted: true, scopes: ["databases:read_only"] });

  expect(await clerk.get(PROFILE)).toMatchObject({
    status: 200,
    body: {
      uid: clerk.userId,
      username: clerk.username,
      email: `${clerk.username}@test.example`,
      timezone: "UTC",
      email_notifications: true,
      restricted: true,
      two_factor_auth: false,
      lish_auth_method: "password_keys",
      authorized_keys: [],
      verified_phone_number: null,
      authentication_type: "password",
      referrals: { total: 0 },
    },
  });
});

// Password links are sent to this address: a token for databases must not give access to the account.
test("a token without account:read_write cannot change the mail address", async () => {
  await using world = await newWorld();
  for (const scopes of [["databases:read_write"], ["account:read_only"], ["account:read_only", "images:read_write"]]) {
    const user = await world.customer({ scopes });
    expect(await user.put(PROFILE, { email: "thief@harbour.example" })).toMatchObject({ status: 401 });
    expect(await user.get(PROFILE)).toMatchObject({ body: { email: `${user.username}@test.example` } });
  }
});

test("the named fields change, the rest stays, and read-only fields are ignored", async () => {
  await using world = await newWorld();
  const clerk = await world.customer({ restricted: true });
  const before = (await clerk.get<Profile>(PROFILE)).body;

  const reply = await clerk.put(PROFILE, {
    timezone: "Europe/Berlin",
    authorized_keys: ["ssh-ed25519 AAAA"],
    email_notifications: false,
    lish_auth_method: "disabled",
    username: "root",
    uid: 1,
    restricted: false,
    two_factor_auth: true,
  });

  const changed = {
    ...before,
    timezone: "Europe/Berlin",
    authorized_keys: ["ssh-ed25519 AAAA"],
    email_notifications: false,
    lish_auth_method: "disabled",
  };
  expect(reply).toMatchObject({ status: 200, body: changed });
  expect((await clerk.put(PROFILE, { authorized_keys: null })).body).toEqual({ ...changed, authorized_keys: [] });
  const { data } = (await clerk.get<{ data: Event[] }>("/v4/account/events")).body;
  expect(data).toHaveLength(2);
  expect(data[0]).toMatchObject({
    action: "profile_update",
    status: "notification",
    username: clerk.username,
    entity: { id: null, type: "profile", url: PROFILE },
  });
  expect((await world.audit()).at(-1)).toMatchObject({ action: "update_profile", target: `user/${clerk.userId}` });
});

test.each([
  [{ timezone: "Mars/Olympus" }, "timezone"],
  [{ email: "x" }, "email"],
  [{ lish_auth_method: "none" }, "lish_auth_method"],
  [{ authorized_keys: "ssh-ed25519" }, "authorized_keys"],
])("a profile with %j is refused at %s", async (change, field) => {
  await using world = await newWorld();
  const user = await world.customer();

  expect(await user.put(PROFILE, change)).toMatchObject({ status: 400, body: { errors: [{ field }] } });
  expect(await world.events()).toEqual([]);
});

test("preferences are the user's own, and are replaced as a whole", async () => {
  await using world = await newWorld();
  const user = await world.customer();
  const colleague = await world.colleague(user.accountId);
  expect(await user.get(PREFERENCES)).toMatchObject({ status: 200, body: {} });

  const first = { theme: "dark", nested: { list: [1, 2.5, null, "ü"], on: true }, "": 0 };
  expect((await user.put(PREFERENCES, first)).body).toEqual(first);
  await user.put(PREFERENCES, { theme: "light" });

  expect((await user.get(PREFERENCES)).body).toEqual({ theme: "light" });
  expect((await colleague.get(PREFERENCES)).body).toEqual({});
  expect(await world.events()).toEqual([]);
});

test("preferences may have 65,535 characters, and no more", async () => {
  await using world = await newWorld();
  const user = await world.customer();
  const ofLength = (length: number) => ({ k: "ü".repeat(length - '{"k":""}'.length) });

  expect(await user.put(PREFERENCES, ofLength(65_535))).toMatchObject({ status: 200 });
  expect(await user.put(PREFERENCES, ofLength(65_536))).toMatchObject({
    status: 400,
    body: { errors: [{ reason: expect.stringMatching(/65535.*65536/) }] },
  });
  expect((await user.get<{ k: string }>(PREFERENCES)).body.k).toHaveLength(65_527);
});

test.each([
  ["a list", "[1]"],
  ["a name that cannot be kept", '{"a\\u0000b": 1}'],
  ["text that cannot be kept", '{"a": ["\\ud800"]}'],
  ["what is deeper than anybody needs", `{"a": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
  ["a prototype", '{"__proto__": {"x": 1}}'],
])("preferences with %s are refused with a reason", async (_name, payload) => {
  await using world = await newWorld();
  const { token } = await world.customer();

  const reply = await world.send({
    method: "PUT",
    url: PREFERENCES,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    payload,
  });

  expect(reply.statusCode).toBe(400);
  expect(reply.json()).toMatchObject({ errors: [{ reason: expect.any(String) }] });
});

test("a profile is the user's own: nothing in it is a colleague's", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const clerk = await world.colleague(owner.accountId, { restricted: true });
  const { id } = (await owner.post<{ id: number }>("/v4/profile/tokens", {})).body;

  for (const path of [`/v4/profile/tokens/${id}`]) {
    const missing = refusalOf(await clerk.get("/v4/profile/tokens/987654321"), 987_654_321, id);
    expect(await clerk.get(path)).toMatchObject({ status: 404, body: missing });
    expect(await clerk.put(path, { label: "mine" })).toMatchObject({ status: 404, body: missing });
    expect(await clerk.delete(path)).toMatchObject({ status: 404, body: missing });
  }
  expect(await owner.get(`/v4/profile/tokens/${id}`)).toMatchObject({ status: 200 });
});
