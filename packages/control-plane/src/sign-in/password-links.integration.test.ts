import { expect, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { type AuthServer, newAuthServer, PASSWORD } from "#testing/auth-server.ts";
import { newValkey } from "#testing/valkey.ts";
import { newWorld, type World } from "#testing/world.ts";
import { createPasswordLinks } from "./choose-password.ts";
import { texts as pageTexts } from "./pages/texts.ts";
import { texts } from "./rules/texts.ts";
import { createThrottle } from "./throttle.ts";

type Person = { accountId: number; userId: number };
const NEW_PASSWORD = "seven gulls over the pier";

const linkFor = async (world: World, auth: AuthServer, person: Person, hours = 1): Promise<string> => {
  const make = createPasswordLinks({ clock: world.clock, authUrl: auth.authUrl });
  return new URL(await world.db.transaction().execute((tx) => make(tx, person, hours))).pathname;
};
const choose = { password: NEW_PASSWORD, again: NEW_PASSWORD };
async function signsIn(auth: AuthServer, name: string, password: string): Promise<boolean> {
  const visitor = auth.visitor();
  await visitor.get("/security");
  return (await visitor.submit("/sign-in", { name, password })).url.pathname === "/security";
}

test("a link opens a page with a clean address, and the password chosen there signs in", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await world.customer();
  const visitor = auth.visitor();

  const page = await visitor.get(await linkFor(world, auth, customer));
  expect(page.url.pathname).toBe("/password");
  expect(page.html).toContain(customer.username);
  const seen = await visitor.submit("/password", choose);

  expect(seen).toMatchObject({ status: 200, html: expect.stringContaining(pageTexts.passwordSavedTitle().text) });
  expect(await signsIn(auth, customer.username, NEW_PASSWORD)).toBe(true);
  expect((await world.events()).map(({ action, username }) => [action, username])).toEqual([
    ["password_reset", customer.username],
  ]);
  expect((await world.audit()).map(({ action }) => action)).toContain("password_chosen");
  expect(await world.db.selectFrom("mails").selectAll().execute()).toHaveLength(1);
});

test("a link works once, even for ten concurrent requests, and ends the user's other links", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await world.customer();
  const [link, other] = [await linkFor(world, auth, customer), await linkFor(world, auth, customer, 72)];
  const visitors = Array.from({ length: 10 }, () => auth.visitor());
  for (const visitor of visitors) await visitor.get(link);
  const seen = await Promise.all(
    visitors.map((visitor, n) => {
      const password = `${NEW_PASSWORD} ${n}`;
      return visitor.submit("/password", { password, again: password });
    }),
  );
  expect(seen.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    200,
    ...Array.from({ length: 9 }, () => 400),
  ]);
  for (const each of [link, other])
    expect((await auth.visitor().get(each)).html).toContain(pageTexts.linkInvalidTitle().text);
});

test("opening a link does not use it up; it expires after its hour", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await world.customer();
  const link = await linkFor(world, auth, customer);
  for (let n = 0; n < 3; n++) expect((await auth.visitor().get(link)).status).toBe(200);
  const slow = auth.visitor();
  await slow.get(link);
  world.time.now = new Date(world.time.now.getTime() + 3_600_000);
  expect((await slow.submit("/password", choose)).status).toBe(400);
  expect((await auth.visitor().get(link)).status).toBe(400);
  expect(await signsIn(auth, customer.username, NEW_PASSWORD)).toBe(false);
});

test("a weak or mistyped password is refused with a reason, and the link stays valid", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await world.customer();
  const visitor = auth.visitor();
  await visitor.get(await linkFor(world, auth, customer));
  const short = await visitor.submit("/password", { password: "short", again: "short" });
  const tooShort = texts.passwordTooShort({ least: 15 }).text;
  expect(short).toMatchObject({ status: 400, html: expect.stringContaining(tooShort) });
  expect(short.html).toMatch(/aria-describedby="password-hint password-fault"\s+aria-invalid="true"/);
  const two = await visitor.submit("/password", { password: NEW_PASSWORD, again: PASSWORD });
  expect(two.html).toContain(texts.passwordsDiffer().text);
  expect((await visitor.submit("/password", choose)).status).toBe(200);
});

test("a new password signs out every browser, and two-factor sign-in stays on", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await world.customer();
  await auth.setPassword(customer);
  const signedIn = auth.visitor();
  await signedIn.get("/security");
  await signedIn.submit("/sign-in", { name: customer.username, password: PASSWORD });
  // Half-way through a sign-in in another browser, with the old password.
  await world.db
    .updateTable("users")
    .set({ tfa_enabled_at: world.time.now, tfa_secret: "v1.sealed" })
    .where("id", "=", customer.userId)
    .execute();
  const half = auth.visitor();
  await half.get("/security");
  await half.submit("/sign-in", { name: customer.username, password: PASSWORD });

  const visitor = auth.visitor();
  await visitor.get(await linkFor(world, auth, customer));
  await visitor.submit("/password", choose);

  expect((await signedIn.get("/security")).url.pathname).toMatch(/^\/interaction\//);
  expect((await half.submit("/code", { code: "123456" })).html).toContain(texts.secondStepEnded().text);
  const user = await world.db.selectFrom("users").selectAll().where("id", "=", customer.userId).executeTakeFirst();
  expect(user?.tfa_enabled_at).not.toBeNull();
});

test("a change on the security page keeps this browser signed in and signs out others", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await world.customer();
  await auth.setPassword(customer);
  const [here, there] = [auth.visitor(), auth.visitor()];
  for (const visitor of [here, there]) {
    await visitor.get("/security");
    await visitor.submit("/sign-in", { name: customer.username, password: PASSWORD });
  }
  const seen = await here.submit("/security/password", choose);
  expect(seen.html).toContain(texts.passwordChanged().text);
  expect((await here.get("/security")).url.pathname).toBe("/security");
  expect((await there.get("/security")).url.pathname).toMatch(/^\/interaction\//);
  expect(await signsIn(auth, customer.username, PASSWORD)).toBe(false);
  expect(await signsIn(auth, customer.username, NEW_PASSWORD)).toBe(true);

  await here.submit("/security/sign-out-everywhere");
  expect((await here.get("/security")).url.pathname).toMatch(/^\/interaction\//);
});

test("a password reset is answered alike for users and unknown names, with the same work", async () => {
  await using world = await newWorld();
  await using valkey = await newValkey();
  const started = Date.now();
  const now = (): number => started;
  const shared = await valkey.limits({ now });
  const throttle = createThrottle({ shared, log: createLog("test", "silent"), now });
  await using auth = await newAuthServer(world, { throttle });
  const customer = await world.customer();
  const requestLink = async (name: string) => {
    const visitor = auth.visitor();
    await visitor.get("/forgot");
    return visitor.submit("/forgot", { name });
  };
  const [known, unknown] = [await requestLink(customer.username), await requestLink("nobody")];
  expect(unknown.html).toBe(known.html);
  expect([known.status, unknown.status]).toEqual([200, 200]);
  const mails = await world.db.selectFrom("mails").select("message").execute();
  expect(mails).toHaveLength(2);
  expect(JSON.stringify(mails)).not.toContain(customer.username);

  // Strangers cannot flood a mailbox.
  for (const name of [customer.username, "nobody"])
    expect([
      (await requestLink(name)).status,
      (await requestLink(name)).status,
      (await requestLink(name)).status,
    ]).toEqual([200, 200, 429]);
});

test("the database contains only the hash of a link", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const link = await linkFor(world, auth, await world.customer());
  const secret = link.split("/").at(-1) as string;
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  const [row] = await world.db.selectFrom("password_links").selectAll().execute();
  expect(row?.sha256.toString("hex")).not.toBe(secret);
  expect((await auth.visitor().get(`/password/${row?.sha256.toString("hex")}`)).status).toBe(400);
});
