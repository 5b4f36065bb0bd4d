import { expect, test } from "vitest";
import { createTokenCache, type KnownToken } from "./authenticate.ts";
import type { Principal } from "./principal.ts";

const token: KnownToken = { principal: { userId: 1 } as Principal, expiresAt: null };

function newCache() {
  const time = { now: 0 };
  return { time, cache: createTokenCache(() => new Date(time.now)) };
}

test("a token is cached for five seconds", () => {
  const { time, cache } = newCache();
  cache.open();
  cache.startLookUp()("t", token);
  time.now = 4_999;
  expect(cache.get("t")).toBe(token);
  time.now = 5_000;
  expect(cache.get("t")).toBeUndefined();
});

test("without listening for revocations nothing is cached, and cached tokens are not used", () => {
  const { cache } = newCache();
  cache.startLookUp()("t", token);
  expect(cache.get("t")).toBeUndefined();
  cache.open();
  cache.startLookUp()("t", token);
  cache.close();
  expect(cache.get("t")).toBeUndefined();
});

// Otherwise a lookup that read the row just before the revocation would make the token valid again.
test("a lookup that started before an invalidation is not cached", () => {
  const { cache } = newCache();
  cache.open();
  const remember = cache.startLookUp();
  cache.forget();
  remember("t", token);
  expect(cache.get("t")).toBeUndefined();
});

test("after reconnecting the cache starts empty", () => {
  const { cache } = newCache();
  cache.open();
  cache.startLookUp()("t", token);
  cache.open();
  expect(cache.get("t")).toBeUndefined();
});
