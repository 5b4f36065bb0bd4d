import { listRegions } from "@moorage/contract";
import { expect, test } from "vitest";
import { invalidToken } from "#identity/index.ts";
import { createServer } from "#platform/http/server.ts";
import { createRateLimiter, type RateLimiter } from "#platform/limits/rate-limiter.ts";
import { texts } from "#platform/limits/texts.ts";
import { createLog } from "#platform/log.ts";
import { newValkey as newServer } from "#testing/valkey.ts";
import { route, type RouteDeps } from "./index.ts";

const log = createLog("test", "silent");
const unused = { requests: 1, perSeconds: 60 };
const limits = {
  overall: { requests: 30, perSeconds: 120 },
  collection: { requests: 5, perSeconds: 60 },
  single: unused,
  accept: unused,
  images: unused,
  timesOf: { account: 2, network: 2 },
};

/** Budgets in a real Valkey that are not refilled. */
async function newValkey() {
  const valkey = await newServer();
  const time = { now: Date.now() };
  const now = (): number => time.now;
  return {
    ...valkey,
    time,
    process: async () => createRateLimiter({ limits, shared: await valkey.limits({ now }), log, now }),
  };
}

/** An API of one public operation: accepts requests without a token, and tokens of one digit, all of one account. */
function newApi(limiter: RateLimiter, trustProxy: string[] | false = false) {
  const app = createServer(log, { trustProxy });
  let lookUps = 0;
  const authenticate = async (authorization: string | undefined) => {
    lookUps++;
    const tokenId = Number(/^Bearer (\d)$/.exec(authorization ?? "")?.[1]);
    if (Number.isNaN(tokenId)) throw invalidToken();
    return { tokenId, accountId: 1, scopes: ["*"] };
  };
  const deps = { limiter, authenticate, clock: () => new Date() } as unknown as RouteDeps;
  route(app, deps, listRegions, async () => ({ data: [], page: 1, pages: 1, results: 0 }));
  const send = async (headers: Record<string, string>, remoteAddress = "203.0.113.7") =>
    app.inject({ url: "/v4/regions", headers, remoteAddress });
  return {
    send,
    lookUps: () => lookUps,
    statuses: async (count: number, headers: (n: number) => Record<string, string>, remoteAddress?: string) => {
      const answers = Array.from({ length: count }, (_, n) => send(headers(n), remoteAddress));
      return (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    },
  };
}

test("every response shows the budget, and 429 when to retry", async () => {
  await using valkey = await newValkey();
  const { send } = newApi(await valkey.process());
  const bearer = { authorization: "Bearer 1" };

  expect((await send(bearer)).headers).toMatchObject({ "x-ratelimit-limit": "5", "x-ratelimit-remaining": "4" });
  for (let n = 0; n < 4; n++) await send(bearer);
  const refused = await send(bearer);

  expect(refused.statusCode).toBe(429);
  expect(refused.body).toBe('{"errors":[{"reason":"Too many requests"}]}');
  expect(refused.headers).toMatchObject({ "x-ratelimit-remaining": "0", "retry-after": "12" });
  const resetInSeconds = Number(refused.headers["x-ratelimit-reset"]) - valkey.time.now / 1000;
  expect(resetInSeconds).toBeGreaterThan(50);
  expect(resetInSeconds).toBeLessThanOrEqual(61);
  expect((await send({ authorization: "Bearer 2" })).statusCode).toBe(200);
  expect((await send({})).statusCode).toBe(200);
});

test("an account with several tokens is refused when all have sent the account's limit, with a reason", async () => {
  await using valkey = await newValkey();
  const { statuses, send } = newApi(await valkey.process());

  const answers = await statuses(20, (n) => ({ authorization: `Bearer ${n % 5}` }));
  const refused = await send({ authorization: "Bearer 6" });

  expect(answers.filter((status) => status === 200)).toHaveLength(10);
  expect(refused.statusCode).toBe(429);
  expect(refused.json()).toEqual({ errors: [{ reason: texts.tooManyOfAccount({ requests: 10, seconds: 6 }).text }] });
  expect(refused.headers).toMatchObject({
    "x-ratelimit-limit": "10",
    "x-ratelimit-remaining": "0",
    "retry-after": "6",
  });
  expect((await send({})).statusCode).toBe(200);
});

test("anonymous callers share the budget of their address, and a forged header is no other address", async () => {
  await using valkey = await newValkey();
  const { statuses, send } = newApi(await valkey.process());

  const answers = await statuses(20, (n) => ({ "x-forwarded-for": `198.51.100.${n}` }));

  expect(answers.filter((status) => status === 200)).toHaveLength(5);
  expect((await send({}, "203.0.113.8")).statusCode).toBe(200);
});

test("behind a trusted proxy callers are distinguished by the address that the proxy saw", async () => {
  await using valkey = await newValkey();
  const { statuses } = newApi(await valkey.process(), ["10.0.0.1"]);

  const forged = await statuses(20, (n) => ({ "x-forwarded-for": `198.51.100.${n}, 203.0.113.7` }), "10.0.0.1");
  const honest = await statuses(20, (n) => ({ "x-forwarded-for": `198.51.100.${n}` }), "10.0.0.1");

  expect(forged.filter((status) => status === 200)).toHaveLength(5);
  expect(honest.filter((status) => status === 200)).toHaveLength(20);
});

test("guessing tokens is refused after a while without a lookup, and does not reveal a right guess", async () => {
  await using valkey = await newValkey();
  const { statuses, send, lookUps } = newApi(await valkey.process());
  const guesses = await statuses(6, (n) => ({ authorization: `Bearer wrong-${n}` }));
  const before = lookUps();

  expect([401, 429].map((each) => guesses.filter((status) => status === each).length)).toEqual([5, 1]);
  expect((await send({ authorization: "Bearer 1" })).statusCode).toBe(429);
  expect(lookUps()).toBe(before);
  expect((await send({ authorization: "Bearer 1" }, "203.0.113.8")).statusCode).toBe(200);
  expect((await send({})).statusCode).toBe(200);
});
