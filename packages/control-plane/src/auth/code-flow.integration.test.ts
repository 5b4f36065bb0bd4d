import * as oauth from "openid-client";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { newWorld, type World } from "../testing/world.ts";
import {
  type Auth,
  authorize,
  codeFor,
  exchange,
  newProof,
  refresh,
  secretOf,
  startAuth,
  type Tokens,
  tokensFor,
} from "../testing/auth.ts";
import { oauthTexts } from "./texts.ts";

const HEX = /^[0-9a-f]{64}$/;
const VIEW = "/v4/databases/mysql/instances";

// One for all tests: none depends on other content of the database.
let world: World;
let auth: Auth;
beforeAll(async () => {
  world = await newWorld();
  auth = await startAuth(world);
});
afterAll(async () => {
  await auth[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

test("a certified client completes discovery, code with PKCE, refresh and revocation", async () => {
  const [maker, person] = [await world.customer(), await world.customer()];
  const app = await auth.newApp(maker);
  const config = await oauth.discovery(new URL(auth.url), app.id, app.secret, undefined, {
    execute: [oauth.allowInsecureRequests],
  });
  const verifier = oauth.randomPKCECodeVerifier();
  const state = oauth.randomState();
  const nonce = oauth.randomNonce();
  const url = oauth.buildAuthorizationUrl(config, {
    redirect_uri: app.redirectUri,
    scope: "openid databases:read_only",
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    nonce,
  });
  const { back, shown } = await authorize(auth.browser(), person, Object.fromEntries(url.searchParams));
  expect(shown.map(({ prompt, scopes }) => [prompt, scopes])).toEqual([
    ["sign-in", ["databases:read_only"]],
    ["consent", ["databases:read_only"]],
  ]);

  const tokens = await oauth.authorizationCodeGrant(config, back as URL, {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
  });
  expect(tokens.claims()).toMatchObject({ sub: `${person.accountId}.${person.userId}`, aud: app.id });
  expect((await world.as(tokens.access_token).get(VIEW)).status).toBe(200);

  const fresh = await oauth.refreshTokenGrant(config, tokens.refresh_token as string);
  expect((await world.as(fresh.access_token).get(VIEW)).status).toBe(200);
  await oauth.tokenRevocation(config, fresh.access_token);
  expect((await world.as(fresh.access_token).get(VIEW)).status).toBe(401);
  await expect(oauth.refreshTokenGrant(config, fresh.refresh_token as string)).rejects.toMatchObject({
    error: "invalid_grant",
  });
});

test("the answer is what clients of this family expect, and the token has exactly these scopes", async () => {
  const person = await world.customer();
  const app = await auth.newApp(person);
  const tokens = await tokensFor(auth, app, person, { scope: undefined, scopes: "linodes:*,databases:read_only" });
  expect(tokens).toEqual({
    access_token: expect.stringMatching(HEX),
    refresh_token: expect.stringMatching(HEX),
    token_type: "bearer",
    expires_in: 7200,
    scope: "computes:read_write databases:read_only",
    scopes: "computes:read_write databases:read_only",
  });
  const api = world.as(tokens.access_token);
  expect((await api.get(VIEW)).headers["x-oauth-scopes"]).toBe("computes:read_write databases:read_only");
  expect((await api.create()).status).toBe(401);
});

describe("every form of the token request", () => {
  const types = ["urlencoded", "multipart"] as const;
  const ways = types.flatMap((type) =>
    [true, false].flatMap((named) => [true, false].map((isPublic) => ({ type, named, isPublic }))),
  );
  test.each(ways)("$type, grant type named: $named, public client: $isPublic", async ({ type, named, isPublic }) => {
    const person = await world.customer();
    const app = await auth.newApp(person, { public: isPublic });
    const { code, verifier } = await codeFor(auth, app, person);
    const fields = {
      ...(named && { grant_type: "authorization_code" }),
      client_id: app.id,
      code,
      code_verifier: verifier,
      ...secretOf(app),
    };
    const form = type === "multipart" ? new FormData() : new URLSearchParams();
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    const reply = await auth.post("/oauth/token", form);
    expect(reply.status).toBe(200);
    const tokens = (await reply.json()) as Tokens;
    expect((await world.as(tokens.access_token).get(VIEW)).status).toBe(200);
  });

  test("a confidential client may authenticate by Basic", async () => {
    const person = await world.customer();
    const app = await auth.newApp(person);
    const { code, verifier } = await codeFor(auth, app, person);
    const basic = Buffer.from(`${app.id}:${app.secret}`).toString("base64");
    const form = new URLSearchParams({ code, code_verifier: verifier });
    const reply = await auth.post("/oauth/token", form, { authorization: `Basic ${basic}` });
    expect(reply.status).toBe(200);
  });

  test("a public client may send its secret, which must then be right", async () => {
    const person = await world.customer();
    const app = await auth.newApp(person, { public: true });
    const { code, verifier } = await codeFor(auth, app, person);
    const fields = { client_id: app.id, code, code_verifier: verifier };
    const wrong = await auth.post("/oauth/token", new URLSearchParams({ ...fields, client_secret: "wrong" }));
    expect(wrong.status).toBe(401);
    const right = await auth.post("/oauth/token", new URLSearchParams({ ...fields, client_secret: app.secret }));
    expect(right.status).toBe(200);
  });

  test("a malformed form is refused in the format of RFC 6749", async () => {
    const reply = await auth.post("/oauth/token", "{}", { "content-type": "application/json" });
    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({ error: "invalid_request", error_description: expect.any(String) });
    for (const grant of ["password", "client_credentials", "implicit"]) {
      const app = await auth.newApp(await world.customer());
      const form = { grant_type: grant, client_id: app.id, client_secret: app.secret, username: "a", password: "b" };
      const refused = await auth.post("/oauth/token", new URLSearchParams(form));
      expect(await refused.json()).toMatchObject({ error: "unsupported_grant_type" });
    }
  });
});

test("the redirect address may be omitted, and the request's loopback port is used", async () => {
  const person = await world.customer();
  const app = await auth.newApp(person, { redirect_uri: "http://127.0.0.1/back", public: true });
  const { code, verifier } = await codeFor(auth, app, person, { redirect_uri: "http://127.0.0.1:4711/back" });
  const form = new URLSearchParams({ client_id: app.id, code, code_verifier: verifier });
  expect((await auth.post("/oauth/token", form)).status).toBe(200);
  const again = await codeFor(auth, app, person, { redirect_uri: undefined });
  const other = { ...Object.fromEntries(form), code: again.code, code_verifier: again.verifier };
  const wrong = { ...other, redirect_uri: "http://127.0.0.1:1/back" };
  expect((await auth.post("/oauth/token", new URLSearchParams(wrong))).status).toBe(400);
});

test("state and issuer are returned, with an error too", async () => {
  const person = await world.customer();
  const app = await auth.newApp(person);
  const query = { client_id: app.id, response_type: "code", scope: "images:read_only", state: "a b&c=d/é" };
  const { back } = await authorize(auth.browser(), person, query);
  expect(Object.fromEntries(back?.searchParams ?? [])).toMatchObject({ state: query.state, iss: auth.url });
  const refused = await authorize(auth.browser(), person, query, "refuse");
  expect(Object.fromEntries(refused.back?.searchParams ?? [])).toMatchObject({
    error: "access_denied",
    state: query.state,
    iss: auth.url,
  });
});

describe("invalid authorization requests", () => {
  test.each([
    [{ response_type: "token" }, "unsupported_response_type", "hash"],
    [{ response_mode: "form_post" }, "unsupported_response_mode", "search"],
    [{ scope: "images:read_only sails:read_only" }, "invalid_scope", "search"],
    [{ scope: "" }, "invalid_scope", "search"],
    [{ scope: "openid" }, "invalid_scope", "search"],
    [{ prompt: "none" }, "login_required", "search"],
    [{ request: "a.b.c" }, "request_not_supported", "search"],
  ] as const)("%j is reported to the app as %s", async (change, error, where) => {
    const person = await world.customer();
    const app = await auth.newApp(person);
    const query = { client_id: app.id, response_type: "code", scope: "images:read_only", state: "s", ...change };
    const { back } = await authorize(auth.browser(), person, query);
    const answered = new URLSearchParams(back?.[where].slice(1));
    expect(answered.get("error")).toBe(error);
    expect(answered.get("state")).toBe("s");
  });

  test("an unknown scope is named", async () => {
    const person = await world.customer();
    const query = { client_id: (await auth.newApp(person)).id, response_type: "code", scope: "sails:read_only *" };
    const { back } = await authorize(auth.browser(), person, query);
    expect(back?.searchParams.get("error_description")).toBe(
      oauthTexts.scopeUnknown({ scopes: ["sails:read_only"] }).text,
    );
  });

  test("an unknown client gets a page, without a redirect", async () => {
    const reply = await auth
      .browser()
      .get("/oauth/authorize?client_id=abc&response_type=code&redirect_uri=https://a.b/");
    expect(reply.status).toBe(400);
    expect(reply.headers.get("content-type")).toContain("text/html");
    expect(await reply.text()).toContain(oauthTexts.clientUnknownTitle().text);
    expect(reply.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  });
});

describe("PKCE", () => {
  const request = async (change: Record<string, string | undefined>, isPublic: boolean) => {
    const person = await world.customer();
    const app = await auth.newApp(person, { public: isPublic });
    const { challenge } = newProof();
    const { back } = await authorize(auth.browser(), person, {
      client_id: app.id,
      response_type: "code",
      scope: "images:read_only",
      state: "s",
      code_challenge: challenge,
      code_challenge_method: "S256",
      ...change,
    });
    return back?.searchParams.get("error") ?? "accepted";
  };
  const without = { code_challenge: undefined, code_challenge_method: undefined };
  test("is mandatory for public clients, and S256 for everybody", async () => {
    expect(await request({}, true)).toBe("accepted");
    expect(await request(without, true)).toBe("invalid_request");
    expect(await request(without, false)).toBe("accepted");
    for (const isPublic of [true, false]) {
      expect(await request({ code_challenge_method: "plain" }, isPublic)).toBe("invalid_request");
      expect(await request({ code_challenge_method: undefined }, isPublic)).toBe("invalid_request");
    }
  });

  test("must be right when the code is exchanged", async () => {
    const person = await world.customer();
    const app = await auth.newApp(person, { public: true });
    const { code, verifier } = await codeFor(auth, app, person);
    const fields = { client_id: app.id, code };
    for (const proof of [{}, { code_verifier: newProof().verifier }])
      expect((await auth.post("/oauth/token", new URLSearchParams({ ...fields, ...proof }))).status).toBe(400);
    expect((await exchange(auth, app, { code, verifier })).status).toBe(200);
  });

  test("cannot be added to a code that was requested without it", async () => {
    const person = await world.customer();
    const app = await auth.newApp(person);
    const { code } = await codeFor(auth, app, person, without);
    expect((await exchange(auth, app, { code, verifier: newProof().verifier })).status).toBe(400);
  });
});

test("a code is bound to its client", async () => {
  const person = await world.customer();
  const [app, other] = [await auth.newApp(person), await auth.newApp(person)];
  const got = await codeFor(auth, app, person);
  expect(await (await exchange(auth, other, got)).json()).toMatchObject({ error: "invalid_grant" });
  expect((await exchange(auth, app, got)).status).toBe(200);
});

describe("expiry", () => {
  const later = (minutes: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + minutes * 60_000 });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("a code is valid for ten minutes", async () => {
    const person = await world.customer();
    const app = await auth.newApp(person);
    const [one, other] = [await codeFor(auth, app, person), await codeFor(auth, app, person)];
    later(9);
    expect((await exchange(auth, app, one)).status).toBe(200);
    later(2);
    expect(await (await exchange(auth, app, other)).json()).toMatchObject({ error: "invalid_grant" });
  });

  test("a refresh token is valid for fourteen days, and so is the next", async () => {
    const person = await world.customer();
    const app = await auth.newApp(person);
    const { refresh_token } = await tokensFor(auth, app, person);
    later(13.9 * 24 * 60);
    const next = (await (await refresh(auth, app, refresh_token)).json()) as Tokens;
    later(13.9 * 24 * 60);
    const last = (await (await refresh(auth, app, next.refresh_token)).json()) as Tokens;
    later(14.1 * 24 * 60);
    expect(await (await refresh(auth, app, last.refresh_token)).json()).toMatchObject({ error: "invalid_grant" });
  });
});

test("a refresh may narrow the scopes, never widen them, and the next may have all again", async () => {
  const person = await world.customer();
  const app = await auth.newApp(person);
  const first = await tokensFor(auth, app, person, { scope: "databases:read_write images:read_only" });
  const narrow = (await (
    await refresh(auth, app, first.refresh_token, { scope: "databases:read_only" })
  ).json()) as Tokens;
  expect(narrow.scope).toBe("databases:read_only");
  expect((await world.as(narrow.access_token).create()).status).toBe(401);
  const wide = await refresh(auth, app, narrow.refresh_token, { scope: "account:read_only" });
  expect(await wide.json()).toMatchObject({ error: "invalid_scope" });
  const all = (await (await refresh(auth, app, narrow.refresh_token)).json()) as Tokens;
  expect(all.scope).toBe("databases:read_write images:read_only");
});
