import type { PersonalToken } from "@moorage/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AuthServer, newAuthServer, PASSWORD } from "#testing/auth-server.ts";
import { newWorld, type World } from "#testing/world.ts";
import { texts } from "./rules/texts.ts";

let world: World;
let auth: AuthServer;
beforeAll(async () => {
  world = await newWorld();
  auth = await newAuthServer(world, { publicUrl: "https://api.example.com" });
});
afterAll(async () => {
  await auth[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

type Customer = Awaited<ReturnType<World["customer"]>>;
async function signedIn(person?: Customer) {
  const customer = person ?? (await world.customer());
  await auth.setPassword(customer);
  const visitor = auth.visitor();
  await visitor.get("/security");
  await visitor.submit("/sign-in", { name: customer.username, password: PASSWORD });
  return { customer, visitor };
}
const tokenForm = { label: "Terraform", what: "all", expiry: "90" };
const tokenOn = (html: string): string => />([0-9a-f]{64})<\/textarea>/.exec(html)?.[1] ?? "";
const tokensOf = async (person: Customer): Promise<PersonalToken[]> =>
  (await person.get<{ data: PersonalToken[] }>("/v4/profile/tokens")).body.data;
const eventsOf = async ({ accountId }: Customer) =>
  (await world.events()).filter(({ account_id }) => account_id === accountId).map(({ action }) => action);

test("a person creates a token on the security page, sees it once, uses it and revokes it", async () => {
  const { customer, visitor } = await signedIn();
  expect((await visitor.get("/security")).html).toContain("/security/tokens/new");
  await visitor.get("/security/tokens/new");

  const made = await visitor.submit("/security/tokens", tokenForm);

  const token = tokenOn(made.html);
  expect(made.html).toContain("moorage login --token --url https://api.example.com");
  expect((await world.as(token).get("/v4/account")).status).toBe(200);
  const row = (await tokensOf(customer)).at(-1) as PersonalToken;
  expect(row).toMatchObject({ label: "Terraform", scopes: "*", token: token.slice(0, 16) });
  expect(Date.parse(`${row.expiry}Z`)).toBe(world.time.now.getTime() + 90 * 86_400_000);
  const listed = (await visitor.get("/security")).html;
  expect(listed).toContain("Terraform");
  expect(listed).not.toContain(token);

  const revoked = await visitor.submit(`/security/tokens/${row.id}/revoke`);
  expect(revoked.html).toContain(texts.tokenRevoked().text);
  expect((await world.as(token).get("/v4/account")).status).toBe(401);
  expect(await eventsOf(customer)).toEqual(["token_create", "token_delete"]);
  const audited = await world.db.selectFrom("audit").selectAll().where("actor", "=", customer.username).execute();
  expect(audited.map(({ action }) => action)).toEqual(["create_token", "delete_token"]);
});

test.each([
  [{ ...tokenForm, what: "view" }, /^account:read_only .*databases:read_only events:read_only/],
  [
    { ...tokenForm, what: "some", area_databases: "read_write", area_events: "read_only" },
    /^databases:read_write events:read_only$/,
  ],
])("the choice %j becomes the scopes %s", async (form, scopes) => {
  const { customer, visitor } = await signedIn();
  await visitor.get("/security/tokens/new");
  await visitor.submit("/security/tokens", form);
  expect((await tokensOf(customer)).at(-1)?.scopes).toMatch(scopes);
});

test.each([
  [{ ...tokenForm, label: "" }, texts.tokenNameInvalid({ longest: 100 })],
  [{ ...tokenForm, what: "" }, texts.tokenAccessMissing()],
  [{ ...tokenForm, what: "some" }, texts.tokenAreasMissing()],
  [{ ...tokenForm, area_databases: "read_only" }, texts.tokenAccessContradictory()],
  [{ ...tokenForm, expiry: "1000000" }, texts.tokenExpiryMissing()],
])("for %j no token is created, and the page names what is missing and keeps the rest", async (form, fault) => {
  const { customer, visitor } = await signedIn();
  await visitor.get("/security/tokens/new");
  const seen = await visitor.submit("/security/tokens", form);
  expect([seen.status, seen.html]).toEqual([400, expect.stringContaining(fault.text)]);
  expect(await tokensOf(customer)).toHaveLength(1);
});

test("ten minutes after signing in the password is required again to create or revoke a token", async () => {
  const { customer, visitor } = await signedIn();
  const before = world.time.now;
  try {
    await visitor.get("/security/tokens/new");
    // A sign-in has the time of this machine.
    world.time.now = new Date(Date.now() + 11 * 60_000);
    const seen = await visitor.submit("/security/tokens", tokenForm);
    expect(seen.url.pathname).toMatch(/^\/interaction\//);
    expect((await visitor.get("/security/tokens/new")).url.pathname).toMatch(/^\/interaction\//);
    expect(await tokensOf(customer)).toHaveLength(1);
  } finally {
    world.time.now = before;
  }
});

test("a token that its user confirms may manage users for ten minutes; confirming requires a recent sign-in", async () => {
  const { customer, visitor } = await signedIn(await world.customer({ scopes: ["account:read_write"] }));
  const invite = (username: string) =>
    customer.post("/v4/account/users", { username, email: "guest@harbour.example", restricted: true });
  expect(await invite("guest-zero")).toMatchObject({ status: 401 });
  const path = `/security/tokens/${(await tokensOf(customer))[0]?.id}/confirm`;
  const before = world.time.now;
  try {
    await visitor.get("/security");
    world.time.now = new Date(Date.now() + 11 * 60_000);
    expect((await visitor.submit(path)).url.pathname).toMatch(/^\/interaction\//);
    expect(await invite("guest-one")).toMatchObject({ status: 401 });

    world.time.now = before;
    await visitor.get("/security");
    const seen = await visitor.submit(path);
    expect(seen.html).toContain(texts.tokenConfirmed({ label: "test", minutes: 10 }).text.split(",")[0]);
    expect(await invite("guest-two")).toMatchObject({ status: 200 });
    world.time.now = new Date(before.getTime() + 10 * 60_000);
    expect(await invite("guest-three")).toMatchObject({ status: 401 });
  } finally {
    world.time.now = before;
  }
  expect(await eventsOf(customer)).toEqual(["token_update", "user_create"]);
});

test("there is nothing to confirm for a token with every scope, or with none for the account", async () => {
  for (const scopes of [["*"], ["databases:read_write"]]) {
    const { visitor } = await signedIn(await world.customer({ scopes }));
    expect((await visitor.get("/security")).html).not.toContain("/confirm");
  }
});

test("nobody revokes another's token, nor one of an app", async () => {
  const { visitor } = await signedIn();
  const other = await world.customer();
  const [token] = await tokensOf(other);
  await visitor.get("/security");
  const hidden = visitor.form("/sign-out-everywhere")?.hidden ?? {};
  const seen = await visitor.post(`/security/tokens/${token?.id}/revoke`, hidden);
  expect(seen.status).toBe(400);
  expect((await other.get("/v4/profile")).status).toBe(200);
});

test("a form from another site creates no token", async () => {
  const { customer, visitor } = await signedIn();
  await visitor.get("/security/tokens/new");
  const hidden = visitor.form("/security/tokens")?.hidden ?? {};
  const seen = [
    await visitor.post("/security/tokens", { ...hidden, ...tokenForm }, { origin: "https://evil.example" }),
    await visitor.post("/security/tokens", { ...tokenForm, form_token: "guessed" }),
  ];
  expect(seen.map(({ status }) => status)).toEqual([403, 403]);
  expect(await tokensOf(customer)).toHaveLength(1);
});

test("a restricted user creates a token too, with only the user's rights", async () => {
  const owner = await world.customer();
  const { visitor } = await signedIn(await world.colleague(owner.accountId, { restricted: true }));
  await visitor.get("/security/tokens/new");
  const token = tokenOn((await visitor.submit("/security/tokens", tokenForm)).html);
  expect((await world.as(token).get("/v4/profile")).status).toBe(200);
  expect((await world.as(token).get("/v4/account/users")).status).toBe(403);
});

test("beyond 500 tokens none can be created, and the page names the limit", async () => {
  const { customer, visitor } = await signedIn();
  const { accountId, userId } = customer;
  const rows = Array.from({ length: 499 }, (_, n) => ({
    account_id: accountId,
    user_id: userId,
    label: `token ${n}`,
    prefix: "",
    scopes: ["*"],
    sha256: Buffer.from(`${accountId}/${n}`),
    created_at: world.time.now,
    expires_at: null,
    revoked_at: null,
  }));
  await world.db.insertInto("tokens").values(rows).execute();
  await visitor.get("/security/tokens/new");
  const seen = await visitor.submit("/security/tokens", tokenForm);
  expect([seen.status, seen.html]).toEqual([400, expect.stringContaining("500")]);
});

test("the first page redirects to signing in, and an unknown page links to it", async () => {
  const visitor = auth.visitor();
  expect((await visitor.get("/")).html).toContain("<h1>Sign in</h1>");
  expect((await visitor.get("/nowhere")).html).toContain('href="/security"');
});

test("after choosing a password through a mailed link, the page shows how to continue", async () => {
  const { accountId, username } = await world.customer();
  const link = await world.operator.post<{ link: string }>(
    `/admin/accounts/${accountId}/users/${username}/password-link`,
    {},
  );
  const visitor = auth.visitor();
  await visitor.get(new URL(link.body.link).pathname);
  const { html } = await visitor.submit("/password", { password: PASSWORD, again: PASSWORD });
  expect(html).toContain("moorage login --url https://api.example.com");
  expect(html).toContain("create a personal token");
});
