import type { Seen, Visitor } from "@moorage/testkit/visitor.ts";
import { sql } from "kysely";
import { TOTP } from "otpauth";
import { expect, test } from "vitest";
import { type AuthServer, newAuthServer, PASSWORD } from "#testing/auth-server.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "./rules/texts.ts";

type Customer = Awaited<ReturnType<World["customer"]>>;
const WRONG = texts.passwordWrong().text;

/** A user with a password. */
async function newPerson(world: World, auth: AuthServer, options = {}): Promise<Customer> {
  const customer = await world.customer(options);
  await auth.setPassword(customer);
  return customer;
}
const codeOf = (secret: string, world: World, seconds = 0): string =>
  new TOTP({ secret }).generate({ timestamp: world.time.now.getTime() + seconds * 1000 });
async function turnOnTwoFactor(world: World, customer: Customer) {
  const { body } = await customer.post<{ secret: string }>("/v4/profile/tfa-enable", {});
  const confirmed = await customer.post<{ scratch_codes: string[] }>("/v4/profile/tfa-enable-confirm", {
    tfa_code: codeOf(body.secret, world, -30),
  });
  return { secret: body.secret, scratchCodes: confirmed.body.scratch_codes };
}
async function signIn(visitor: Visitor, name: string, password = PASSWORD) {
  await visitor.get("/security");
  return visitor.submit("/sign-in", { name, password });
}
const logins = (world: World) =>
  world.db
    .selectFrom("logins")
    .select(["username", "status", "restricted", sql<string>`host(address)`.as("address")])
    .orderBy("id")
    .execute();

test("name and password sign in, with the name in any case, and the attempt is recorded", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth);

  const seen = await signIn(auth.visitor("203.0.113.7"), customer.username.toUpperCase());

  expect(seen).toMatchObject({ status: 200 });
  expect(seen.url.pathname).toBe("/security");
  expect(seen.html).toContain(customer.username);
  expect(await logins(world)).toEqual([
    { username: customer.username, status: "successful", restricted: false, address: "203.0.113.7" },
  ]);
});

test("the session after signing in is not the one before it", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth);
  const visitor = auth.visitor();
  const session = () => visitor.cookies().find(({ name }) => name.endsWith("session"));
  await visitor.get("/security");
  const before = session()?.value;
  await visitor.submit("/sign-in", { name: customer.username, password: PASSWORD });
  const first = session()?.value;
  expect(first).toBeDefined();
  expect(first).not.toBe(before);

  world.time.now = new Date(Date.now() + 11 * 60_000);
  // A change after this time requires the password again.
  await visitor.get("/security");
  const offered = await visitor.submit("/security/tfa");
  expect(offered.url.pathname).toMatch(/^\/interaction\//);
  await visitor.submit("/sign-in", { name: customer.username, password: PASSWORD });
  expect(session()?.value).not.toBe(first);
});

test("unknown name, wrong password and no password get identical answers, with one row each", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth);
  const without = await world.customer();
  const names = [customer.username, without.username, "nobody", "a\0b", ""];
  const seen: Seen[] = [];
  for (const name of names) seen.push(await signIn(auth.visitor(), name, "not the password"));

  const anonymous = ({ status, headers, html, url }: Seen, name: string) => ({
    status,
    headers: [...headers.entries()].filter(
      ([header]) => !["date", "set-cookie", "x-request-id", "content-length"].includes(header),
    ),
    html: html
      .replaceAll(url.pathname.split("/")[2] as string, "UID")
      .replaceAll(/name="form_token" value="[^"]*"/g, "TOKEN")
      .replaceAll(`value="${name}"`, "NAME"),
  });
  const [first, second, third] = seen.map((each, at) => anonymous(each, names[at] as string));
  expect(first).toMatchObject({ status: 400, html: expect.stringContaining(WRONG) });
  expect(second).toEqual(first);
  expect(third).toEqual(first);
  expect(seen.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400]);
  expect((await logins(world)).map(({ username, status }) => [username, status])).toEqual([
    [customer.username, "failed"],
    [without.username, "failed"],
    [null, "failed"],
    [null, "failed"],
    [null, "failed"],
  ]);
});

test("a restricted user's attempt is recorded as such", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth, { restricted: true });
  await signIn(auth.visitor(), customer.username);
  expect(await logins(world)).toMatchObject([{ restricted: true, status: "successful" }]);
});

test("with two factors the password alone does not sign in; a code does, once", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth);
  const { secret } = await turnOnTwoFactor(world, customer);
  const visitor = auth.visitor();

  const half = await signIn(visitor, customer.username);
  expect(half.html).toContain("Second step");
  expect(await logins(world)).toEqual([]);
  expect((await auth.visitor().get("/security")).html).toContain("Sign in");
  const wrong = await visitor.submit("/code", { code: "000000" });
  expect(wrong).toMatchObject({ status: 400, html: expect.stringContaining(texts.codeWrong().text) });
  const seen = await visitor.submit("/code", { code: codeOf(secret, world) });
  expect(seen.url.pathname).toBe("/security");
  expect((await logins(world)).map(({ status }) => status)).toEqual(["failed", "successful"]);

  // The same code and the one before it, from somebody who watched.
  const thief = auth.visitor();
  await signIn(thief, customer.username);
  for (const seconds of [0, -30])
    expect((await thief.submit("/code", { code: codeOf(secret, world, seconds) })).status).toBe(400);
  expect((await thief.submit("/code", { code: codeOf(secret, world, 30) })).url.pathname).toBe("/security");
});

test("of ten concurrent uses of one code, one signs in", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth);
  const { secret, scratchCodes } = await turnOnTwoFactor(world, customer);
  for (const code of [codeOf(secret, world), scratchCodes[0] as string]) {
    const visitors = Array.from({ length: 10 }, () => auth.visitor());
    for (const visitor of visitors) await signIn(visitor, customer.username);
    const seen = await Promise.all(visitors.map((visitor) => visitor.submit("/code", { code })));
    expect(seen.filter(({ url }) => url.pathname === "/security")).toHaveLength(1);
  }
});

test("a scratch code replaces the authenticator, once, however it is typed", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth);
  const { scratchCodes } = await turnOnTwoFactor(world, customer);
  const code = (scratchCodes[3] as string).toLowerCase().replaceAll("-", " ");
  const attempt = async () => {
    const visitor = auth.visitor();
    await signIn(visitor, customer.username);
    return visitor.submit("/code", { code });
  };
  const first = await attempt();
  expect(first.html).toContain("Scratch codes left: 7");
  expect((await attempt()).status).toBe(400);
});

test("after five codes, or ten minutes, the password is required again", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth);
  const { secret } = await turnOnTwoFactor(world, customer);
  const visitor = auth.visitor();
  await signIn(visitor, customer.username);
  for (let n = 0; n < 5; n++) expect((await visitor.submit("/code", { code: "000000" })).html).toContain("Second step");
  const sixth = await visitor.submit("/code", { code: codeOf(secret, world) });
  expect(sixth).toMatchObject({ status: 400, html: expect.stringContaining(texts.secondStepEnded().text) });

  await visitor.submit("/sign-in", { name: customer.username, password: PASSWORD });
  world.time.now = new Date(world.time.now.getTime() + 10 * 60_000);
  const late = await visitor.submit("/code", { code: codeOf(secret, world) });
  expect(late.html).toContain(texts.secondStepEnded().text);
});

test("a code typed into another browser's interaction does not work", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth);
  const { secret } = await turnOnTwoFactor(world, customer);
  const visitor = auth.visitor();
  const half = await signIn(visitor, customer.username);
  const form = visitor.form("/code");
  const stranger = auth.visitor();
  const seen = await stranger.post(`${half.url.pathname}/code`, { ...form?.hidden, code: codeOf(secret, world) });
  expect(seen).toMatchObject({ status: 400, html: expect.stringContaining(texts.pageExpiredTitle().text) });
});

test("a form from another site, a sibling site or no origin is refused, whatever its content", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth);
  const visitor = auth.visitor();
  const page = await visitor.get("/security");
  const fields = { ...visitor.form("/sign-in")?.hidden, name: customer.username, password: PASSWORD };
  const send = (headers: Record<string, string>) => visitor.post(`${page.url.pathname}/sign-in`, fields, headers);
  for (const headers of [
    { origin: "https://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { "sec-fetch-site": "none" },
  ])
    expect((await send(headers)).status).toBe(403);
  expect(await logins(world)).toEqual([]);
  // The same form, from our own page.
  expect((await send({})).url.pathname).toBe("/security");
});

test("a form without its token, or with another page's, is refused", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth);
  const other = auth.visitor();
  await other.get("/security");
  const visitor = auth.visitor();
  const page = await visitor.get("/security");
  for (const form_token of ["", "x", other.form("/sign-in")?.hidden["form_token"] ?? ""])
    expect(
      (await visitor.post(`${page.url.pathname}/sign-in`, { form_token, name: customer.username, password: PASSWORD }))
        .status,
    ).toBe(403);
  expect(await logins(world)).toEqual([]);
});

test("a hash with older parameters is replaced when its owner signs in, and still matches", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth);
  const { hash } = await import("@node-rs/argon2");
  const old = await hash(PASSWORD, { memoryCost: 4096, timeCost: 1, parallelism: 1 });
  await world.db.updateTable("users").set({ password_hash: old }).where("id", "=", customer.userId).execute();
  expect((await signIn(auth.visitor(), customer.username)).url.pathname).toBe("/security");
  const row = await world.db
    .selectFrom("users")
    .select("password_hash")
    .where("id", "=", customer.userId)
    .executeTakeFirst();
  expect(row?.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect((await signIn(auth.visitor(), customer.username)).url.pathname).toBe("/security");
});

test("every page has the strict headers, and is not cached", async () => {
  await using world = await newWorld();
  await using auth = await newAuthServer(world);
  const customer = await newPerson(world, auth);
  const visitor = auth.visitor();
  const pages = [
    await visitor.get("/security"),
    await signIn(visitor, customer.username),
    await visitor.get("/forgot"),
  ];
  for (const { headers } of [...pages, await visitor.get("/nothing")]) {
    expect(headers.get("content-security-policy")).toMatch(
      /default-src 'none'.*script-src 'self'.*frame-ancestors 'none'/,
    );
    expect(headers.get("content-security-policy")).not.toContain("unsafe");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  }
});
