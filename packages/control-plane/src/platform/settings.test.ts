import { readSettings } from "@moorage/contract/settings";
import { expect, test } from "vitest";
import { Listen, servingSettings } from "./settings.ts";

const fields = { ...servingSettings, LISTEN: Listen.prefault("127.0.0.1:18090") };

test("a listen address has a host and a port", () => {
  expect(readSettings(fields, {}).LISTEN).toEqual({ host: "127.0.0.1", port: 18090 });
  expect(readSettings(fields, { LISTEN: "10.0.0.1:8443" }).LISTEN).toEqual({ host: "10.0.0.1", port: 8443 });
});

test("proxies are addresses or networks", () => {
  const { MOORAGE_TRUSTED_PROXIES: proxies } = readSettings(fields, { MOORAGE_TRUSTED_PROXIES: "10.0.0.0/8, ::1" });
  expect(proxies).toEqual(["10.0.0.0/8", "::1"]);
});

test.each([
  ["MOORAGE_TRUSTED_PROXIES", "proxy.internal"],
  ["MOORAGE_TRUSTED_PROXIES", "true"],
  ["LISTEN", "nowhere"],
])("%s=%s is refused by name", (name, value) => {
  expect(() => readSettings(fields, { [name]: value })).toThrow(name);
});
