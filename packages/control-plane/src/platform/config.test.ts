import { expect, test } from "vitest";
import { rateLimitsOf, readConfig, required } from "./config.ts";

const url = "postgres://moorage@127.0.0.1:5432/moorage";

test("every fault of the environment is reported at once", () => {
  const faulty = { MOORAGE_CELL: "1024", MOORAGE_API_LISTEN: "nowhere", MOORAGE_SWEEP_SECONDS: "0" };

  expect(() => readConfig(faulty)).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/(?=[^]*DATABASE_URL)(?=[^]*MOORAGE_CELL)(?=[^]*API_LISTEN)(?=[^]*SWEEP_SECONDS)/),
    }),
  );
});

test("a listen address has a host and a port; every setting but the database has a default", () => {
  const config = readConfig({ DATABASE_URL: url, MOORAGE_FLEET_LISTEN: "10.0.0.1:8443" });

  expect(config).toMatchObject({
    MOORAGE_FLEET_LISTEN: { host: "10.0.0.1", port: 8443 },
    MOORAGE_API_LISTEN: { host: "127.0.0.1", port: 18090 },
    MOORAGE_CELL: 0,
  });
});

test("a missing setting that only one process needs is reported by name", () => {
  expect(() => required(readConfig({ DATABASE_URL: url }), "MOORAGE_KEYS_FILE")).toThrow("MOORAGE_KEYS_FILE");
});

test("rate limits are requests per seconds, scaled by a factor; proxies are addresses or networks", () => {
  const env = { MOORAGE_RATE_OVERALL: "10/60", MOORAGE_RATE_LIMITS: "2.5", MOORAGE_TRUSTED_PROXIES: "10.0.0.0/8, ::1" };
  const config = readConfig({ DATABASE_URL: url, ...env });

  expect(rateLimitsOf(config)).toEqual({
    overall: { requests: 25, perSeconds: 60 },
    single: { requests: 1000, perSeconds: 60 },
    collection: { requests: 500, perSeconds: 60 },
    accept: { requests: 5, perSeconds: 60 },
    images: { requests: 50, perSeconds: 60 },
  });
  expect(config.MOORAGE_TRUSTED_PROXIES).toEqual(["10.0.0.0/8", "::1"]);
  expect(readConfig({ DATABASE_URL: url, MOORAGE_RATE_LIMITS: "off" }).MOORAGE_RATE_LIMITS).toBe("off");
});

test.each([
  ["MOORAGE_RATE_SINGLE", "400"],
  ["MOORAGE_RATE_LIMITS", "none"],
  ["MOORAGE_TRUSTED_PROXIES", "proxy.internal"],
  ["MOORAGE_TRUSTED_PROXIES", "true"],
])("%s=%s is refused by name", (name, value) => {
  expect(() => readConfig({ DATABASE_URL: url, [name]: value })).toThrow(name);
});
