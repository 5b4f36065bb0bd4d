import { expect, onTestFinished, test } from "vitest";
import { createLog } from "#platform/log.ts";
import { createServer } from "./server.ts";
import { scopeHeaders, tenantHeaders } from "./tenant-headers.ts";

const newApp = () => {
  const app = createServer(createLog("test", "silent"));
  tenantHeaders(app);
  app.get("/v4/account", async (_request, reply) => {
    scopeHeaders(reply, {
      held: ["account:read_only", "events:read_only"],
      accepted: ["a:read_only", "b:read_only"],
      accountUuid: "e1",
    });
    return {};
  });
  app.get("/v4/regions", { config: { cacheControl: "private, max-age=900" } }, async (_request, reply) => {
    scopeHeaders(reply, { held: undefined, accepted: [], accountUuid: undefined });
    return {};
  });
  app.get("/v4/broken", { config: { cacheControl: "private, max-age=900" } }, async () => {
    throw new Error("broken");
  });
  onTestFinished(() => app.close());
  return app;
};

test.each(["/v4/account", "/v4/nothing", "/v4/broken", "/v4beta/account"])(
  "%s has the headers that the interface defines",
  async (url) => {
    const { headers } = await newApp().inject({ url });

    expect(headers).toMatchObject({
      "x-spec-version": "4.174.0",
      vary: "Authorization, X-Filter",
      "cache-control": "no-store",
      "access-control-allow-origin": "*",
      "access-control-expose-headers": expect.stringContaining("X-OAuth-Scopes, X-Accepted-OAuth-Scopes, X-Status"),
      "content-type": "application/json",
    });
    expect(headers).not.toHaveProperty("x-maintenance-mode");
  },
);

test("a route may set how long its response can be cached", async () => {
  const { headers } = await newApp().inject({ url: "/v4/regions" });

  expect(headers["cache-control"]).toBe("private, max-age=900");
});

test("scopes held are separated by spaces, accepted ones by commas; anonymous is unknown", async () => {
  const app = newApp();

  expect((await app.inject({ url: "/v4/account" })).headers).toMatchObject({
    "x-oauth-scopes": "account:read_only events:read_only",
    "x-accepted-oauth-scopes": "a:read_only,b:read_only",
    "x-customer-uuid": "e1",
  });
  const anonymous = (await app.inject({ url: "/v4/regions" })).headers;
  expect(anonymous).toMatchObject({ "x-oauth-scopes": "unknown", "x-accepted-oauth-scopes": "*" });
  expect(anonymous).not.toHaveProperty("x-customer-uuid");
});

test("a CORS preflight request is answered", async () => {
  const reply = await newApp().inject({
    method: "OPTIONS",
    url: "/v4/account",
    headers: { origin: "https://app.example", "access-control-request-method": "PUT" },
  });

  expect(reply.statusCode).toBe(204);
  expect(reply.headers).toMatchObject({
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "HEAD, GET, OPTIONS, POST, PUT, DELETE",
    "access-control-allow-headers": expect.stringMatching(/^Authorization, .*X-Filter/),
  });
});

test.each(["access_token", "token", "api_key", "Access_Token"])(
  "a token in the query (%s) is 401, with or without another",
  async (name) => {
    const app = newApp();

    for (const headers of [{}, { authorization: "Bearer good" }]) {
      const reply = await app.inject({ url: `/v4/account?page=1&${name}=abc`, headers });
      expect(reply.statusCode).toBe(401);
      expect(reply.body).toContain("query string");
      expect(reply.body).not.toContain("abc");
    }
    expect((await app.inject({ url: "/v4/account?page=1" })).statusCode).toBe(200);
  },
);
