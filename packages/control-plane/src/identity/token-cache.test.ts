import { expect, test } from "vitest";
import type { Principal } from "./principal.ts";
import { createTokenCache, type KnownToken } from "./token-cache.ts";

const token: KnownToken = { principal: { userId: 1 } as Principal, expiresAt: null };

function newCache() {
  const time = { now: 0 };
  return { time, cache: createTokenCache(() => new Date(time.now)) };
}

test("a token is remembered for five seconds", () => {
  const { time, cache } = newCache();
  cache.open();
  cache.startLookUp()("t", token);
  time.now = 4_999;
  expect(cache.get("t")).toBe(token);
  time.now = 5_000;
  expect(cache.get("t")).toBeUndefined();
});

test("while nobody listens for revocations nothing is remembered, and nothing that was is used", () => {
  const { cache } = newCache();
  cache.startLookUp()("t", token);
  expect(cache.get("t")).toBeUndefined();
  cache.open();
  cache.startLookUp()("t", token);
  cache.close();
  expect(cache.get("t")).toBeUndefined();
});

// Otherwise a look-up that read the row just before it was revoked would bring the token back to life.
test("a look-up that began before something was forgotten is not remembered", () => {
  const { cache } = newCache();
  cache.open();
  const remember = cache.startLookUp();
  cache.forget();
  remember("t", token);
  expect(cache.get("t")).toBeUndefined();
});

test("listening anew begins with nothing", () => {
  const { cache } = newCache();
  cache.open();
  cache.startLookUp()("t", token);
  cache.open();
  expect(cache.get("t")).toBeUndefined();
});
