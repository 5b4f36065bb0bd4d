import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createSealer } from "#platform/seal.ts";
import { sha256 } from "#platform/sha256.ts";
import { type Auth, authorizePath, codeFor, exchange, startAuth, type Tokens, tokensFor } from "../testing/auth.ts";
import { newWorld, type World } from "../testing/world.ts";
import { findSigningKey } from "./authorization-server.ts";
import { DEVICE_GRANT } from "./command-line.ts";
import { createAuthSweep } from "./sweep.ts";

type Customer = Awaited<ReturnType<World["customer"]>>;

let world: World;
let auth: Auth;
let person: Customer;
beforeAll(async () => {
  world = await newWorld();
  auth = await startAuth(world);
  person = await world.customer();
});
afterAll(async () => {
  await auth[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

describe("over https", () => {
  test("cookies are restricted to this host and to https", async () => {
    await using secure = await startAuth(world, {
      authUrl: "https://login.example.com",
      publicUrl: "https://api.example.com",
    });
    const app = await auth.newApp(person);
    const query = { client_id: app.id, response_type: "code", scope: "images:read_only" };
    const reply = await secure.browser().get(authorizePath(query), { host: "evil.example" });
    const cookies = reply.headers.getSetCookie();
    expect(cookies.map((each) => each.split("=", 1)[0])).toEqual([
      "__Secure-moorage-interaction",
      "__Secure-moorage-interaction.sig",
      "__Secure-moorage-resume",
      "__Secure-moorage-resume.sig",
    ]);
    for (const cookie of cookies) {
      expect(cookie).toMatch(/; samesite=lax; secure; httponly/i);
      expect(cookie).not.toMatch(/domain=/i);
    }
    expect(reply.headers.get("strict-transport-security")).toContain("max-age=31536000");
    const policy = reply.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("img-src 'self' https://api.example.com;");
    expect(policy).not.toContain("unsafe");
  });

  test("it uses its configured address, whatever a caller sends", async () => {
    await using secure = await startAuth(world, { authUrl: "https://login.example.com" });
    const headers = { host: "evil.example", "x-forwarded-host": "evil.example", "x-forwarded-proto": "http" };
    const reply = await fetch(`${secure.url}/.well-known/oauth-authorization-server`, { headers });
    expect(await reply.json()).toMatchObject({
      issuer: "https://login.example.com",
      authorization_endpoint: "https://login.example.com/oauth/authorize",
      token_endpoint: "https://login.example.com/oauth/token",
      device_authorization_endpoint: "https://login.example.com/oauth/device_authorization",
      revocation_endpoint: "https://login.example.com/oauth/revoke",
      jwks_uri: "https://login.example.com/oauth/jwks",
      response_types_supported: ["code"],
      grant_types_supported: ["authorization_code", "refresh_token", DEVICE_GRANT],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
    });
  });
});

describe("a web app", () => {
  const exchangeFrom = async (origin: string, app: Awaited<ReturnType<Auth["newApp"]>>) => {
    const { code, verifier } = await codeFor(auth, app, person);
    const form = { client_id: app.id, code, code_verifier: verifier };
    return auth.post("/oauth/token", new URLSearchParams(form), { origin });
  };

  test("may send requests from the origin of its redirect address only", async () => {
    const app = await auth.newApp(person, { public: true });
    const right = await exchangeFrom("https://app.example.com", app);
    expect([right.status, right.headers.get("access-control-allow-origin")]).toEqual([200, "https://app.example.com"]);
    expect(right.headers.get("access-control-allow-credentials")).toBeNull();
    for (const origin of ["https://evil.example", "http://app.example.com", "null"]) {
      const wrong = await exchangeFrom(origin, app);
      expect([wrong.status, wrong.headers.get("access-control-allow-origin")]).toEqual([400, null]);
    }
  });
});

test("an unknown path is answered with a page", async () => {
  for (const path of ["/", "/oauth/me", "/token", "/oauth/introspect", "/reg", "/%zz"]) {
    const reply = await fetch(auth.url + path);
    expect([reply.status, reply.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
    expect(reply.headers.get("content-security-policy")).toContain("default-src 'none'");
  }
});

test("two processes that start at once use one signing key, which is stored sealed", async () => {
  await world.db.deleteFrom("signing_keys").execute();
  const deps = { db: world.db, clock: world.clock, sealer: world.sealer };
  const keys = await Promise.all([findSigningKey(deps), findSigningKey(deps), findSigningKey(deps)]);
  expect(new Set(keys.map(({ n }) => n)).size).toBe(1);
  const { jwk } = await world.db.selectFrom("signing_keys").select("jwk").executeTakeFirstOrThrow();
  expect(jwk).toMatch(/^v1\./);
  const another = createSealer({ current: "k1", keys: { k1: Buffer.alloc(32).toString("base64") } });
  await expect(findSigningKey({ ...deps, sealer: another })).rejects.toThrow(/authenticate/);
});

test("the sweep removes what has expired, grants a day later, and nothing else", async () => {
  const app = await auth.newApp(person);
  const got = await codeFor(auth, app, person);
  const tokens = (await (await exchange(auth, app, got)).json()) as Tokens;
  const other = await tokensFor(auth, await auth.newApp(person), person);
  const hours = (count: number) => new Date(Date.now() + count * 3_600_000);
  const left = async (at: Date) => {
    await createAuthSweep({ db: world.db, clock: () => at }, 2)();
    const has = async (token: string) =>
      (await world.db.selectFrom("tokens").where("sha256", "=", sha256(token)).execute()).length;
    const records = world.db.selectFrom("auth_records").select("model").orderBy("model");
    return {
      tokens: [await has(tokens.access_token), await has(other.access_token), await has(person.token)],
      models: [...new Set((await records.execute()).map(({ model }) => model))],
      grants: (await world.db.selectFrom("app_grants").select("id").where("client_id", "=", app.id).execute()).length,
    };
  };
  expect((await left(hours(0))).tokens).toEqual([1, 1, 1]);
  expect(await left(hours(3))).toEqual({ tokens: [0, 0, 1], models: ["RefreshToken", "Session"], grants: 1 });
  expect(await left(hours(14 * 24 + 1))).toEqual({ tokens: [0, 0, 1], models: [], grants: 1 });
  expect((await left(hours(15 * 24 + 1))).grants).toBe(0);
});
