import { expect, test } from "vitest";
import { authorize, codeFor, exchange, refresh, startAuth, tokensFor } from "#testing/auth.ts";
import { newWorld, type World } from "#testing/world.ts";

const close = (world: World, { accountId }: { accountId: number }): Promise<unknown> =>
  world.db.updateTable("accounts").set({ closed_at: world.time.now }).where("id", "=", accountId).execute();
const SCOPE = { scope: "databases:read_only" };

/** An app of one account, and a user of another account who authorized it. */
async function appFixture(world: World) {
  const auth = await startAuth(world);
  const [owner, person] = [await world.customer(), await world.customer()];
  const app = await auth.newApp(owner);
  const tokens = await tokensFor(auth, app, person, SCOPE);
  return { auth, owner, person, app, tokens, [Symbol.asyncDispose]: () => auth[Symbol.asyncDispose]() };
}

test("an app's access to an account ends when the account closes", async () => {
  await using world = await newWorld();
  await using fixture = await appFixture(world);
  const { auth, app, person, tokens } = fixture;
  const code = await codeFor(auth, app, person, SCOPE);
  expect((await world.as(tokens.access_token).get("/v4/databases/mysql/instances")).status).toBe(200);

  await close(world, person);

  expect((await world.as(tokens.access_token).get("/v4/databases/mysql/instances")).status).toBe(401);
  for (const reply of [await refresh(auth, app, tokens.refresh_token), await exchange(auth, app, code)]) {
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({ error: "invalid_grant" });
  }
});

test("when an app's own account closes, the app loses access to everybody's", async () => {
  await using world = await newWorld();
  await using fixture = await appFixture(world);
  const { auth, app, owner, person, tokens } = fixture;

  await close(world, owner);

  expect((await world.as(tokens.access_token).get("/v4/databases/mysql/instances")).status).toBe(401);
  expect((await refresh(auth, app, tokens.refresh_token)).status).toBe(401);
  const query = { client_id: app.id, response_type: "code", redirect_uri: app.redirectUri, state: "s", ...SCOPE };
  expect((await authorize(auth.browser(), person, query)).back).toBeUndefined();
});

test("a session of a closed account is invalid: the person has to sign in again", async () => {
  await using world = await newWorld();
  await using fixture = await appFixture(world);
  const { auth, app, person } = fixture;
  const { browser } = await codeFor(auth, app, person, SCOPE);
  await close(world, person);

  const query = { client_id: app.id, response_type: "code", redirect_uri: app.redirectUri, state: "s", ...SCOPE };
  const { back, shown } = await authorize(browser, person, query);

  expect(shown[0]?.prompt).toBe("sign-in");
  expect(back?.searchParams.get("code") ?? undefined).toBeUndefined();
});
