/** A third party's app, from its registration to its removal, with a user in a browser. */
import type { AuthorizedApp } from "@moorage/contract";
import { until } from "@moorage/testkit/until.ts";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApi } from "../kit/api-process.ts";
import { faultsOf, fillCode, fillSignIn, newVisitor, noteSession, openBrowser } from "../kit/browser.ts";
import { operator } from "../kit/operator.ts";
import { addAuthenticator, newPerson } from "../kit/person.ts";
import { env } from "../kit/stack-env.ts";
import { tenant } from "../kit/tenant.ts";
import { type AppOptions, startThirdPartyApp } from "../kit/third-party-app.ts";
import { refusedByMessage } from "../kit/revoked.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

const scope = "databases:read_only events:read_only";
const app = (change: Partial<AppOptions> = {}): AppOptions => ({
  label: "Fleet board",
  isPublic: false,
  encoding: "urlencoded",
  sendsGrantType: true,
  scope,
  ...change,
});

const every = [false, true].flatMap((isPublic) =>
  (["urlencoded", "multipart"] as const).flatMap((encoding) =>
    [true, false].map((sendsGrantType) => ({ isPublic, encoding, sendsGrantType })),
  ),
);

test("an app is authorized with a second factor, works within its scope, and ends when revoked", async () => {
  const alice = await newPerson("alice");
  const authenticator = await addAuthenticator(alice);
  await using third = await startThirdPartyApp(alice, app());
  await third.putThumbnail();
  await using visitor = await newVisitor(browser);
  const { page } = visitor;

  await page.goto(`${third.url}/begin`);
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Sign in");
  expect(await page.getByText("Fleet board").first().isVisible()).toBe(true);
  await fillSignIn(page, alice);
  await page.getByLabel("Code").waitFor();
  expect(await faultsOf(page, "second-step")).toEqual([]);
  await fillCode(page, await authenticator.nextCode());

  await page.getByRole("button", { name: "Refuse" }).waitFor();
  const shown = await page.getByRole("main").textContent();
  expect(shown).toContain("Fleet board");
  expect(shown).toContain(alice.username);
  expect(shown).toContain("View your databases");
  expect(shown).toContain("View your events");
  expect(shown).not.toContain("View and change");
  // Displayed, not only named: the page may load images from the API only.
  const thumbnail = page.locator("main img");
  await expect
    .poll(() => thumbnail.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth))
    .toBe(128);
  expect(await faultsOf(page, "consent")).toEqual([]);
  expect(await noteSession(visitor.context)).toBeGreaterThan(0);
  await agree(page);
  expect(await page.title()).toBe("Fleet board is connected");

  const first = third.got.tokens;
  expect(first).toMatchObject({ token_type: "bearer", expires_in: 7200, scope });
  expect(first?.access_token).toMatch(/^[0-9a-f]{64}$/);
  const call = async (token: string | undefined, method: string, path: string, body?: object) =>
    (await tenant(token ?? "").call(method, path, body)).status;
  expect(await call(first?.access_token, "GET", "/v4/databases/mysql/instances")).toBe(200);
  expect(await call(first?.access_token, "GET", "/v4/account/events")).toBe(200);
  expect(await call(first?.access_token, "GET", "/v4/account/users")).toBe(401);
  expect(await call(first?.access_token, "POST", "/v4/databases/mysql/instances", {})).toBe(401);

  expect((await third.refresh()).status).toBe(200);
  const second = third.got.tokens;
  expect(second?.access_token).not.toBe(first?.access_token);
  expect(second?.refresh_token).not.toBe(first?.refresh_token);
  expect(await call(second?.access_token, "GET", "/v4/account/events")).toBe(200);

  const { body } = await alice.api.call<{ data: AuthorizedApp[] }>("GET", "/v4/profile/apps");
  expect(body.data).toMatchObject([{ label: "Fleet board", scopes: scope }]);
  await alice.api.call("DELETE", `/v4/profile/apps/${body.data[0]?.id}`);
  await until("it is dead", 60, async () => (await call(second?.access_token, "GET", "/v4/account/events")) === 401);
  expect(await call(first?.access_token, "GET", "/v4/account/events")).toBe(401);
  expect(await third.refresh()).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  expect(visitor.complaints).toEqual([]);
});

test.each(every)("an app gets tokens: public $isPublic, $encoding, grant_type $sendsGrantType", async (way) => {
  const { alice, visitor } = await signedIn();
  await using third = await startThirdPartyApp(alice, app(way));
  const { page } = visitor;

  await page.goto(`${third.url}/begin`);
  await agree(page);

  expect(await page.title()).toBe("Fleet board is connected");
  const api = tenant(third.got.tokens?.access_token ?? "");
  expect((await api.call("GET", "/v4/databases/mysql/instances")).status).toBe(200);
  expect((await third.refresh()).status).toBe(200);
  expect(visitor.complaints).toEqual([]);
  // The code again: it may be stolen, so all tokens from it are revoked.
  const { access_token = "" } = third.got.tokens ?? {};
  expect(await third.exchange(third.got.code ?? "")).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  await until(
    "it is dead",
    1,
    async () => (await tenant(access_token).call("GET", "/v4/account/events")).status === 401,
  );
});

test("a person who declines is redirected to the app, which gets an error and no token", async () => {
  const { alice, visitor } = await signedIn();
  await using third = await startThirdPartyApp(alice, app({ scope: "*" }));
  const { page } = visitor;

  await page.goto(`${third.url}/begin`);
  expect(await page.getByRole("main").textContent()).toContain("everything in your account");
  expect(await faultsOf(page, "consent-to-everything")).toEqual([]);
  await page.getByRole("button", { name: "Refuse" }).click();

  await page.waitForURL(`${third.url}/callback*`);
  expect(await page.title()).toBe("Refused: access_denied");
  expect(third.got.tokens).toBeUndefined();
  expect(visitor.complaints).toEqual([]);
});

test("an app revokes its own token, and both of its tokens are refused", async () => {
  const { alice, visitor } = await signedIn();
  await using third = await startThirdPartyApp(alice, app());
  await visitor.page.goto(`${third.url}/begin`);
  await agree(visitor.page);
  const { access_token = "", refresh_token = "" } = third.got.tokens ?? {};

  expect((await third.revoke(refresh_token)).status).toBe(200);

  await until(
    "it is dead",
    1,
    async () => (await tenant(access_token).call("GET", "/v4/account/events")).status === 401,
  );
  expect((await third.refresh()).status).toBe(400);
  expect((await third.revoke("0".repeat(64))).status).toBe(200);
});

test("every API process learns of what ends an app", async () => {
  const { alice, visitor } = await signedIn();
  await using another = await startApi();
  const urls = [env("MOORAGE_URL"), another.url];
  const statuses = async (token: string): Promise<number[]> =>
    Promise.all(urls.map(async (url) => (await tenant(token, url).call("GET", "/v4/account/events")).status));
  const endings: Record<string, (client: string) => Promise<unknown>> = {
    "the operator disables it": (id) => operator(`/admin/oauth-clients/${id}/status`, { status: "disabled" }),
    "the operator suspends it": (id) => operator(`/admin/oauth-clients/${id}/status`, { status: "suspended" }),
    "its owner deletes it": (id) => alice.api.call("DELETE", `/v4/account/oauth-clients/${id}`),
    "its owner makes it public": (id) => alice.api.call("PUT", `/v4/account/oauth-clients/${id}`, { public: true }),
    "its user revokes it": async () => {
      const { body } = await alice.api.call<{ data: AuthorizedApp[] }>("GET", "/v4/profile/apps?page_size=500");
      const newest = Math.max(...body.data.map(({ id }) => id));
      return alice.api.call("DELETE", `/v4/profile/apps/${newest}`);
    },
  };
  for (const [what, end] of Object.entries(endings)) {
    let refresh: () => Promise<{ status: number }> = async () => ({ status: 0 });
    await refusedByMessage(`${what}: dead on both`, async () => {
      await using third = await startThirdPartyApp(alice, app());
      ({ refresh } = third);
      await visitor.page.goto(`${third.url}/begin`);
      await agree(visitor.page);
      const { access_token = "" } = third.got.tokens ?? {};
      const cachedAt = Date.now();
      expect(await statuses(access_token)).toEqual([200, 200]);

      await end(third.id);

      const isRefused = async () => (await statuses(access_token)).join() === "401,401";
      return { cachedAt, isRefused };
    });
    expect((await refresh()).status).toBeGreaterThanOrEqual(400);
  }
});

test("a redirect URI that is not the client's own gets an error page without a redirect", async () => {
  const { alice, visitor } = await signedIn();
  await using third = await startThirdPartyApp(alice, app());
  const { page } = visitor;
  await page.goto(`${third.url}/begin`);
  const requested = new URL(`/oauth/authorize?client_id=${third.id}&response_type=code`, page.url());
  requested.searchParams.set("redirect_uri", `${third.url}/elsewhere`);

  const reply = await page.goto(requested.href);

  expect(reply?.status()).toBe(400);
  expect(new URL(page.url()).origin).toBe(requested.origin);
  expect(await faultsOf(page, "wrong-redirect")).toEqual([]);
});

/** One user, signed in once, so that the test of the app does not depend on how they signed in. */
let kept: Promise<{ alice: Awaited<ReturnType<typeof newPerson>>; visitor: Awaited<ReturnType<typeof newVisitor>> }>;
function signedIn() {
  kept ??= (async () => {
    const alice = await newPerson("alice");
    const visitor = await newVisitor(browser);
    await using third = await startThirdPartyApp(alice, app({ label: "First app" }));
    await visitor.page.goto(`${third.url}/begin`);
    await fillSignIn(visitor.page, alice);
    await agree(visitor.page);
    return { alice, visitor };
  })();
  return kept;
}

async function agree(page: Awaited<ReturnType<typeof newVisitor>>["page"]): Promise<void> {
  await page.getByRole("button", { name: "Let it in" }).click();
  await page.waitForURL(/^http:\/\/127\.0\.0\.1:\d+\/callback/);
}
