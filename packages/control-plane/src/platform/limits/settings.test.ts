import { readSettings } from "@moorage/contract/settings";
import { expect, test } from "vitest";
import { rateLimitSettings, rateLimitsOf } from "./settings.ts";

const read = (env: Record<string, string>) => readSettings(rateLimitSettings, env);

test("rate limits are requests per seconds, scaled by a factor", () => {
  expect(rateLimitsOf(read({ MOORAGE_RATE_OVERALL: "10/60", MOORAGE_RATE_LIMITS: "2.5" }))).toEqual({
    overall: { requests: 25, perSeconds: 60 },
    single: { requests: 1000, perSeconds: 60 },
    collection: { requests: 500, perSeconds: 60 },
    accept: { requests: 5, perSeconds: 60 },
    images: { requests: 50, perSeconds: 60 },
    timesOf: { account: 4, network: 16 },
  });
});

test("limits that are off keep their sizes, for the headers", () => {
  expect(rateLimitsOf(read({ MOORAGE_RATE_LIMITS: "off" }))).toEqual(rateLimitsOf(read({})));
});

test.each([
  ["MOORAGE_RATE_SINGLE", "400"],
  ["MOORAGE_RATE_LIMITS", "none"],
  ["MOORAGE_RATE_ACCOUNT", "0.5"],
])("%s=%s is refused by name", (name, value) => {
  expect(() => read({ [name]: value })).toThrow(name);
});
