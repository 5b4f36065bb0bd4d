import type { Login, User } from "@moorage/contract";
import { expect, test } from "vitest";
import { newWorld, type World } from "#testing/world.ts";
import { createLoginSweep, recordLogin } from "./login-store.ts";

const ACCOUNT = "/v4/account/logins";
const PROFILE = "/v4/profile/logins";
type Page = { data: Login[]; results: number };
type Owner = { accountId: number; userId: number };

const DAY_MS = 86_400_000;
const signIn = (
  world: World,
  person: Owner | undefined,
  change: { status?: "failed"; address?: string; daysAgo?: number } = {},
) =>
  recordLogin(world.db, {
    at: new Date(world.time.now.getTime() - (change.daysAgo ?? 0) * DAY_MS),
    person,
    address: change.address ?? "203.0.113.7",
    status: change.status ?? "successful",
  });

test("every attempt is recorded with address and restriction; users see their own in the profile", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const clerk = await world.colleague(owner.accountId, { restricted: true });
  await signIn(world, owner);
  await signIn(world, clerk, { status: "failed", address: "2001:db8::1" });
  await signIn(world, clerk, { address: "::ffff:192.0.2.9" });

  const all = (await owner.get<Page>(ACCOUNT)).body;

  const at = world.time.now.toISOString().slice(0, 19);
  expect(all.data).toMatchObject([
    { datetime: at, ip: "203.0.113.7", restricted: false, status: "successful", username: owner.username },
    { datetime: at, ip: "2001:db8::1", restricted: true, status: "failed", username: clerk.username },
    { datetime: at, ip: "192.0.2.9", restricted: true, status: "successful", username: clerk.username },
  ]);
  expect(all.data.map(({ id }) => id)).toEqual(all.data.map(({ id }) => id).toSorted((a, b) => a - b));
  expect((await owner.get(`${ACCOUNT}/${all.data[1]?.id}`)).body).toEqual(all.data[1]);
  expect((await clerk.get<Page>(PROFILE)).body.data).toEqual(all.data.slice(1));
  expect((await clerk.get(`${PROFILE}/${all.data[1]?.id}`)).body).toEqual(all.data[1]);
  expect(await clerk.get(`${PROFILE}/${all.data[0]?.id}`)).toMatchObject({ status: 404 });
});

test("only unrestricted users of the same account see the account's logins", async () => {
  await using world = await newWorld();
  const [owner, stranger] = [await world.customer(), await world.customer()];
  const clerk = await world.colleague(owner.accountId, { restricted: true });
  await signIn(world, owner);
  const [login] = (await owner.get<Page>(ACCOUNT)).body.data;

  for (const path of [ACCOUNT, `${ACCOUNT}/${login?.id}`]) expect(await clerk.get(path)).toMatchObject({ status: 403 });
  expect((await stranger.get<Page>(ACCOUNT)).body).toMatchObject({ data: [], results: 0 });
  for (const list of [ACCOUNT, PROFILE])
    expect(await stranger.get(`${list}/${login?.id}`)).toMatchObject({ status: 404 });
});

test("an attempt with an unknown name is one row too, with only time and address", async () => {
  await using world = await newWorld();

  await signIn(world, undefined, { status: "failed" });

  expect(await world.db.selectFrom("logins").selectAll().execute()).toMatchObject([
    { account_id: null, user_id: null, username: null, restricted: null, status: "failed", address: "203.0.113.7" },
  ]);
});

test("the view of a user contains the last login", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const last = async () => (await owner.get<User>(`/v4/account/users/${owner.username}`)).body.last_login;
  expect(await last()).toBeNull();
  await signIn(world, owner, { daysAgo: 1 });
  await signIn(world, owner, { status: "failed" });

  expect(await last()).toEqual({ login_datetime: world.time.now.toISOString().slice(0, 19), status: "failed" });
});

test("a deleted user's logins stay with the account, and are not shown to the next user of the name", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  const clerk = await world.colleague(owner.accountId);
  await signIn(world, clerk);
  await owner.delete(`/v4/account/users/${clerk.username}`);
  await owner.post("/v4/account/users", { username: clerk.username, email: "heir@harbour.example" });

  expect((await owner.get<Page>(ACCOUNT)).body.data).toMatchObject([{ username: clerk.username }]);
  expect((await owner.get<User>(`/v4/account/users/${clerk.username}`)).body.last_login).toBeNull();
});

test("logins are shown for 90 days, and then removed in batches", async () => {
  await using world = await newWorld();
  const owner = await world.customer();
  for (const daysAgo of [92, 91, 90.5, 89.5]) await signIn(world, owner, { daysAgo });
  await signIn(world, undefined, { daysAgo: 91 });
  const [, , , shown] = await world.db.selectFrom("logins").select("id").orderBy("id").execute();
  const [old] = await world.db.selectFrom("logins").select("id").orderBy("id").execute();

  expect((await owner.get<Page>(ACCOUNT)).body).toMatchObject({ results: 1, data: [{ id: shown?.id }] });
  expect(await owner.get(`${ACCOUNT}/${old?.id}`)).toMatchObject({ status: 404 });

  await createLoginSweep(world, 2)();

  expect(await world.db.selectFrom("logins").select("id").execute()).toEqual([{ id: shown?.id }]);
});
