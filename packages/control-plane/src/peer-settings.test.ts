import { expect, test } from "vitest";
import { dnsSettings } from "#dns/settings.ts";
import { readConfig } from "#platform/config.ts";
import { valkeySettings } from "#platform/limits/settings.ts";
import { archiveStoreSettings, databaseSettings, temporalSettings } from "#platform/settings.ts";

const fields = { ...databaseSettings, ...temporalSettings, ...valkeySettings, ...dnsSettings, ...archiveStoreSettings };
const here = {
  DATABASE_URL: "postgres://moorage@127.0.0.1:5432/moorage",
  TEMPORAL_ADDRESS: "localhost:7233",
  VALKEY_URL: "redis://[::1]:6379",
  MOORAGE_DNS_URL: "http://127.0.0.1:8081",
  MOORAGE_DNS_KEY: "key",
  MOORAGE_S3_URL: "http://127.0.0.1:9000",
  MOORAGE_S3_ACCESS_KEY: "a",
  MOORAGE_S3_SECRET_KEY: "s",
};
/** They are only read to be readable. */
const files = (prefix: string): Record<string, string> =>
  Object.fromEntries(["CA", "CERTIFICATE", "KEY"].map((what) => [`${prefix}_${what}_FILE`, import.meta.filename]));

const away = {
  DATABASE_URL: "postgres://moorage@db.example/moorage",
  TEMPORAL_ADDRESS: "temporal.example:7233",
  VALKEY_URL: "redis://valkey.example",
  MOORAGE_DNS_URL: "https://dns.example",
  MOORAGE_S3_URL: "http://s3.example",
};
const encrypted = [
  "postgres://m@db.example/m?sslmode=verify-full&sslrootcert=/ca&sslcert=/c&sslkey=/k",
  "postgres://m@localhost/m?host=/run/postgresql",
] as const;

test("everything on this machine may be in clear text", () => {
  expect(readConfig(fields, here).TEMPORAL_ADDRESS).toBe("localhost:7233");
});

test.each(Object.entries(away))("%s on another machine is refused by name, unless it is allowed", (name, address) => {
  const env = { ...here, [name]: address };
  expect(() => readConfig(fields, env)).toThrow(`${name} is on another machine`);
  const [another = ""] = Object.keys(away).filter((each) => each !== name);
  expect(() => readConfig(fields, { ...env, MOORAGE_CLEAR_TEXT_ALLOWED: another })).toThrow(name);
  expect(readConfig(fields, { ...env, MOORAGE_CLEAR_TEXT_ALLOWED: `${another}, ${name}` })).toHaveProperty(name);
});

test.each(encrypted)("DATABASE_URL may be %s", (url) => {
  expect(readConfig(fields, { ...here, DATABASE_URL: url }).DATABASE_URL).toBe(url);
});

test.each([
  "postgres://m@db.example/m?sslmode=require&sslrootcert=/ca&sslcert=/c&sslkey=/k",
  "postgres://m@db.example/m?sslmode=verify-full&sslrootcert=/ca",
  "postgres://m@127.0.0.1/m?host=db.example",
  "postgres://m@db.example/m?sslmode=verify-full&sslrootcert=/ca&sslcert=/c&sslkey=/k&sslmode=disable",
  "postgres://m@db.example/m?sslmode=verify-full&sslrootcert=/ca&sslcert=/c&sslkey=/k&ssl=0",
])("DATABASE_URL may not be %s", (url) => {
  expect(() => readConfig(fields, { ...here, DATABASE_URL: url })).toThrow("DATABASE_URL is on another machine");
});

test("Temporal and Valkey on other machines need all three files, and Valkey rediss", () => {
  const temporal = { ...here, TEMPORAL_ADDRESS: "temporal.example:7233", ...files("TEMPORAL_TLS") };
  expect(readConfig(fields, temporal).TEMPORAL_TLS_CA_FILE).toBe(import.meta.filename);
  const valkey = { ...here, VALKEY_URL: "rediss://valkey.example", ...files("VALKEY_TLS") };
  expect(readConfig(fields, valkey).VALKEY_TLS_KEY_FILE).toBe(import.meta.filename);
  for (const name of ["TEMPORAL_TLS_CA_FILE", "TEMPORAL_TLS_CERTIFICATE_FILE", "TEMPORAL_TLS_KEY_FILE"])
    expect(() => readConfig(fields, { ...temporal, [name]: undefined })).toThrow(name);
  expect(() => readConfig(fields, { ...valkey, VALKEY_URL: "redis://valkey.example" })).toThrow("rediss://");
});
