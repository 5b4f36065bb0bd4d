import { expect, test } from "vitest";
import { imageLinkSettings } from "#image-server/settings.ts";
import { readConfig } from "#platform/config.ts";
import { addressSettings } from "#platform/settings.ts";

const fields = { ...addressSettings, ...imageLinkSettings };
const linkKey = { MOORAGE_IMAGE_SERVER_KEY: "k".repeat(32) };
const names = ["MOORAGE_PUBLIC_URL", "MOORAGE_AUTH_URL", "MOORAGE_IMAGE_SERVER_URL"] as const;

test.each(names)("%s is refused by name if it is an http address of another machine, unless it is allowed", (name) => {
  const env = { [name]: "http://moorage.example", ...(name === "MOORAGE_IMAGE_SERVER_URL" ? linkKey : {}) };
  expect(() => readConfig(fields, env)).toThrow(`${name} must be an https URL`);
  expect(() => readConfig(fields, { ...env, MOORAGE_HTTP_ALLOWED: "MOORAGE_ZONE" })).toThrow("MOORAGE_HTTP_ALLOWED");
  const [another = ""] = names.filter((each) => each !== name);
  expect(() => readConfig(fields, { ...env, MOORAGE_HTTP_ALLOWED: another })).toThrow(name);
  expect(readConfig(fields, { ...env, MOORAGE_HTTP_ALLOWED: `${another}, ${name}` })[name]).toContain("http:");
});

test.each([
  "https://moorage.example",
  "http://localhost:8080",
  "http://127.0.0.1:1",
  "http://[::1]:1",
  "http://a.localhost",
])("%s is accepted", (url) => {
  expect(readConfig(fields, { MOORAGE_AUTH_URL: url }).MOORAGE_AUTH_URL).toBe(url);
});

test.each(["http://localhost.example", "http://127.0.0.1.example", "http://10.0.0.1", "http://[::2]"])(
  "%s is not this machine",
  (url) => {
    expect(() => readConfig(fields, { MOORAGE_AUTH_URL: url })).toThrow("MOORAGE_AUTH_URL");
  },
);
