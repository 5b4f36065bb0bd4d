import { afterAll, beforeAll, expect, test } from "vitest";
import { createRateLimiter } from "#platform/limits/rate-limiter.ts";
import { rateLimitSettings, rateLimitsOf } from "#platform/limits/settings.ts";
import { createLog } from "#platform/log.ts";
import { readSettings } from "@moorage/contract/settings";
import { type AuthServer, newAuthServer } from "#testing/auth-server.ts";
import { newWorld, type World } from "#testing/world.ts";

const limits = {
  ...rateLimitsOf(readSettings(rateLimitSettings, {})),
  overall: { requests: 10, perSeconds: 120 },
  single: { requests: 4, perSeconds: 60 },
};

let world: World;
let auth: AuthServer;
const now = Date.now();
beforeAll(async () => {
  world = await newWorld();
  const down = () => Promise.reject(new Error("down"));
  const shared = { take: down, refund: down, close: () => {} };
  // Its clock stands still, so that nothing refills during a test.
  const limiter = createRateLimiter({ limits, shared, log: createLog("test", "silent"), now: () => now });
  auth = await newAuthServer(world, { limiter });
});
afterAll(async () => {
  await auth[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

const post = (path: string, ip: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${auth.authUrl}${path}`, {
    method: "POST",
    body: new URLSearchParams(form),
    headers: { "x-forwarded-for": ip, ...headers },
  });
const statusesOf = async (count: number, ...request: Parameters<typeof post>): Promise<number[]> => {
  const statuses = [];
  for (let n = 0; n < count; n++) statuses.push((await post(...request)).status);
  return statuses;
};

test.each([
  ["/oauth/token", "203.0.113.1"],
  ["/oauth/revoke", "203.0.113.2"],
])("%s refuses a client at one address above its limit, as RFC 6749 says, and nobody else", async (path, ip) => {
  const form = { client_id: "an-app", code: "guess", token: "" };
  const first = await statusesOf(4, path, ip, form);
  expect(first.every((status) => status < 429)).toBe(true);

  const refused = await post(path, ip, form);
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("15");
  expect(refused.headers.get("content-type")).toContain("application/json");
  expect(await refused.json()).toEqual({ error: "invalid_request", error_description: "Too many requests" });
  // Named in the header it is the same client.
  const basic = { authorization: `Basic ${Buffer.from("an-app:secret").toString("base64")}` };
  expect((await post(path, ip, { code: "guess", token: "" }, basic)).status).toBe(429);
  expect((await post(path, ip, { ...form, client_id: "another" })).status).not.toBe(429);
  expect((await post(path, "198.51.100.1", form)).status).not.toBe(429);
});

test("an address that names many clients is refused above its own limit, with an IPv6 network counted as one", async () => {
  const statuses = [];
  for (let n = 0; n < 12; n++)
    statuses.push((await post("/oauth/token", `2001:db8::${n}`, { client_id: `app-${n}`, code: "guess" })).status);
  expect(statuses.slice(0, 10)).not.toContain(429);
  expect(statuses.slice(10)).toEqual([429, 429]);
});
