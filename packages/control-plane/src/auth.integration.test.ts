import { randomBytes } from "node:crypto";
import { readSettings } from "@moorage/contract/settings";
import { type Browser, newBrowser } from "@moorage/testkit/browser.ts";
import { freePort } from "@moorage/testkit/free-port.ts";
import { expect, test } from "vitest";
import { createNoRateLimiter } from "#platform/limits/rate-limiter.ts";
import { rateLimitSettings, rateLimitsOf } from "#platform/limits/settings.ts";
import { createLog } from "#platform/log.ts";
import { createNoThrottle, createPasswords } from "#sign-in/index.ts";
import { createAuthServer } from "./auth.ts";
import { authorizePath, BACK, newProof } from "./testing/auth.ts";
import { newWorld, type World } from "./testing/world.ts";

async function startServer(world: World) {
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const app = await createAuthServer(
    createLog("test", "silent"),
    {
      db: world.db,
      clock: () => new Date(),
      sealer: world.sealer,
      throttle: createNoThrottle(),
      keyRing: { current: "k1", keys: { k1: randomBytes(32).toString("base64") } },
      limiter: createNoRateLimiter(rateLimitsOf(readSettings(rateLimitSettings, {}))),
      authUrl: url,
      publicUrl: undefined,
    },
    {
      maxInFlight: 500,
      maxLagMs: 60_000,
      drainMs: 1000,
      trustedProxies: false,
      check: async () => {},
    },
  );
  await app.listen({ host: "localhost", port });
  return { url, [Symbol.asyncDispose]: () => app.close() };
}

const PASSWORD = "the harbour lights at four";
const setPassword = async (world: World, userId: number): Promise<void> => {
  const password_hash = await createPasswords().hash(PASSWORD);
  await world.db.updateTable("users").set({ password_hash }).where("id", "=", userId).execute();
};

/** Follows redirects on our own address, and fills in the form of the page where they end. */
async function onwards(browser: Browser, reply: Response): Promise<Response> {
  const { origin } = new URL(reply.url);
  const to = new URL(reply.headers.get("location") ?? reply.url, reply.url);
  return reply.status === 303 && to.origin === origin
    ? onwards(browser, await browser.get(to.pathname + to.search))
    : reply;
}
async function submit(browser: Browser, page: Response, to: string, fields: Record<string, string> = {}) {
  const token = /name="form_token" value="([^"]+)"/.exec(await page.text())?.[1] ?? "";
  const at = new URL(page.url).pathname;
  return onwards(browser, await browser.post(`${at}/${to}`, { ...fields, form_token: token }));
}

test("a person signs in on our pages and agrees, and the app gets access", async () => {
  await using world = await newWorld();
  await using server = await startServer(world);
  const person = await world.customer();
  await setPassword(world, person.userId);
  const client = await person.post<{ id: string; secret: string }>("/v4/account/oauth-clients", {
    label: "Tide <tables>",
    redirect_uri: BACK,
  });
  const { verifier, challenge } = newProof();
  const browser = newBrowser(server.url);
  const query = { client_id: client.body.id, response_type: "code", scope: "databases:read_only", state: "s" };
  const proof = { code_challenge: challenge, code_challenge_method: "S256" };
  const signIn = await onwards(browser, await browser.get(authorizePath({ ...query, ...proof })));
  expect(signIn.status).toBe(200);
  const wrong = await submit(browser, signIn.clone(), "sign-in", { name: person.username, password: "wrong" });
  expect(wrong.status).toBe(400);
  const consent = await submit(browser, signIn, "sign-in", { name: person.username, password: PASSWORD });
  expect(await consent.clone().text()).toContain("Tide &#60;tables&#62;");
  const back = await submit(browser, consent, "consent");
  const code = new URL(back.headers.get("location") ?? "").searchParams.get("code") ?? "";
  const reply = await fetch(`${server.url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      client_id: client.body.id,
      client_secret: client.body.secret,
      code,
      code_verifier: verifier,
    }),
  });
  const { access_token } = (await reply.json()) as { access_token: string };
  expect((await world.as(access_token).get("/v4/databases/mysql/instances")).status).toBe(200);
});

test("our own page requires signing in, and redirects back", async () => {
  await using world = await newWorld();
  await using server = await startServer(world);
  const person = await world.customer();
  await setPassword(world, person.userId);
  const browser = newBrowser(server.url);
  const signIn = await onwards(browser, await browser.get("/security"));
  const page = await submit(browser, signIn, "sign-in", { name: person.username, password: PASSWORD });
  expect(new URL(page.url).pathname).toBe("/security");
  expect(await page.text()).toContain(person.username);
  const leave = await browser.get("/logout");
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(await leave.text())?.[1] ?? "";
  const left = await onwards(browser, await browser.post("/logout", { xsrf, logout: "yes" }));
  expect(await left.text()).toContain("signed out");
  expect((await browser.get("/security")).status).toBe(303);
});
