import { newAuthenticator } from "@moorage/testkit/authenticator.ts";
import type { Visitor } from "@moorage/testkit/visitor.ts";
import { expect, test } from "vitest";
import { type AuthServer, newAuthServer, PASSWORD } from "#testing/auth-server.ts";
import { newWorld, type World } from "#testing/world.ts";

type Creation = { challenge: string; user: { id: string } };

async function signedIn(world: World, auth: AuthServer) {
  const customer = await world.customer();
  await auth.setPassword(customer);
  const visitor = auth.visitor();
  await visitor.get("/security");
  await visitor.submit("/sign-in", { name: customer.username, password: PASSWORD });
  return { customer, visitor };
}
/** The options that the page's script requests. */
async function optionsOf<Options>(visitor: Visitor, action: string): Promise<Options> {
  const form = visitor.form(action);
  const reply = await visitor.post(`${form?.action}/options`, form?.hidden ?? {});
  expect(reply.status).toBe(200);
  return JSON.parse(reply.html) as Options;
}
async function addPasskey(auth: AuthServer, visitor: Visitor, label = "Laptop") {
  const authenticator = newAuthenticator(auth.authUrl);
  const form = visitor.form("/security/passkeys");
  const options = await optionsOf<Creation>(visitor, "/security/passkeys");
  const seen = await visitor.post("/security/passkeys", {
    ...form?.hidden,
    label,
    credential: authenticator.create(options),
  });
  return { authenticator, seen, options };
}
async function useOf(auth: AuthServer, answer: (options: { challenge: string }) => string) {
  const visitor = auth.visitor();
  await visitor.get("/security");
  const form = visitor.form("/passkey");
  const options = await optionsOf<{ challenge: string }>(visitor, "/passkey");
  const credential = answer(options);
  const send = (given: string) => visitor.post(form?.action ?? "", { ...form?.hidden, credential: given });
  return { options, send, seen: await send(credential) };
}

test("a passkey is added after a recent sign-in, and signs in without a name, a password or a code", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const { customer, visitor } = await signedIn(world, auth);
  const { authenticator, seen } = await addPasskey(auth, visitor);
  expect(seen).toMatchObject({ status: 200, html: expect.stringContaining("Laptop") });
  expect(await world.db.selectFrom("mails").selectAll().execute()).toHaveLength(1);
  expect((await world.audit()).map(({ action }) => action)).toContain("passkey_added");
  // Two factors are required, and a passkey counts as two.
  await world.db.updateTable("users").set({ tfa_enabled_at: world.time.now, tfa_secret: "x" }).execute();

  const used = await useOf(auth, (options) => authenticator.get(options));

  expect(used.seen.url.pathname).toBe("/security");
  expect(used.seen.html).toContain(customer.username);
  const logins = await world.db.selectFrom("logins").select(["username", "status"]).orderBy("id").execute();
  expect(logins.at(-1)).toEqual({ username: customer.username, status: "successful" });
});

test("invalid answers are refused: another site, unverified, old challenge, clone, unknown key", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const { visitor } = await signedIn(world, auth);
  const { authenticator } = await addPasskey(auth, visitor);
  const first = await useOf(auth, (options) => authenticator.get(options, { counter: 7 }));
  expect(first.seen.url.pathname).toBe("/security");

  const stranger = newAuthenticator(auth.authUrl);
  const refused: Record<string, (options: { challenge: string }) => string> = {
    "another site": (options) => authenticator.get(options, { origin: "https://evil.example", counter: 20 }),
    "another name": (options) => authenticator.get(options, { rpId: "evil.example", counter: 21 }),
    "no finger": (options) => authenticator.get(options, { verified: false, counter: 22 }),
    "an old challenge": () => authenticator.get(first.options, { counter: 23 }),
    "a challenge of ours that nobody made": () => authenticator.get({ challenge: "AAAA" }, { counter: 24 }),
    "a copy, which counts from where it was taken": (options) => authenticator.get(options, { counter: 7 }),
    "a stranger's key": (options) => stranger.get(options),
    nothing: () => "",
    "no JSON": () => "{",
  };
  for (const [name, answer] of Object.entries(refused))
    expect([name, (await useOf(auth, answer)).seen.status]).toEqual([name, 400]);
  expect((await useOf(auth, (options) => authenticator.get(options, { counter: 25 }))).seen.url.pathname).toBe(
    "/security",
  );
});

test("a challenge works once, and in the browser that requested it", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const { visitor } = await signedIn(world, auth);
  const { authenticator } = await addPasskey(auth, visitor);
  let answer = "";
  const requestOptions = await useOf(auth, (options) => {
    answer = authenticator.get(options, { counter: 0 });
    return "";
  });
  expect(requestOptions.seen.status).toBe(400);
  // A bad answer uses it up: a good answer to it comes too late.
  const spent = await useOf(auth, (options) => authenticator.get(options, { verified: false, counter: 0 }));
  expect((await spent.send(authenticator.get(spent.options, { counter: 0 }))).status).toBe(400);
  // In another browser, which requested another challenge.
  expect((await useOf(auth, () => answer)).seen.status).toBe(400);
});

test("a passkey is not added with another session's challenge, twice, or long after signing in", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const [one, two] = [await signedIn(world, auth), await signedIn(world, auth)];
  const authenticator = newAuthenticator(auth.authUrl);
  const options = await optionsOf<Creation>(one.visitor, "/security/passkeys");
  await two.visitor.get("/security");
  const send = (visitor: Visitor) =>
    visitor.post("/security/passkeys", {
      ...visitor.form("/security/passkeys")?.hidden,
      label: "x",
      credential: authenticator.create(options),
    });
  expect((await send(two.visitor)).status).toBe(400);

  await one.visitor.get("/security");
  const added = await addPasskey(auth, one.visitor);
  await one.visitor.get("/security");
  const again = await one.visitor.post("/security/passkeys", {
    ...one.visitor.form("/security/passkeys")?.hidden,
    label: "x",
    credential: added.authenticator.create(added.options),
  });
  expect(again.status).toBe(400);

  world.time.now = new Date(Date.now() + 11 * 60_000);
  await one.visitor.get("/security");
  const late = await send(one.visitor);
  expect(late.url.pathname).toMatch(/^\/interaction\//);
  expect(await world.db.selectFrom("passkeys").selectAll().execute()).toHaveLength(1);
});

test("a removed passkey no longer signs in, and nobody removes another's", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const [one, two] = [await signedIn(world, auth), await signedIn(world, auth)];
  const { authenticator } = await addPasskey(auth, one.visitor);
  const { id } = await world.db.selectFrom("passkeys").select("id").executeTakeFirstOrThrow();
  await two.visitor.get("/security");
  const token = two.visitor.form("/security/tfa")?.hidden ?? {};
  await two.visitor.post(`/security/passkeys/${id}/remove`, token);
  expect(await world.db.selectFrom("passkeys").selectAll().execute()).toHaveLength(1);

  await one.visitor.get("/security");
  await one.visitor.submit(`/security/passkeys/${id}/remove`);
  expect((await useOf(auth, (options) => authenticator.get(options))).seen.status).toBe(400);
});
