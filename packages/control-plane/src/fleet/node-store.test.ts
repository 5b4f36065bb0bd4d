import { expect, test } from "vitest";
import { addressOf, uidOf } from "./node-store.ts";

test.each([
  [20_000, "10.128.16.2"],
  [20_253, "10.128.16.255"],
  [20_254, "10.128.17.0"],
  [24_093, "10.128.31.255"],
])("port %i of a host is %s", (port, address) => {
  expect(addressOf("10.128.16.0/20", port)).toBe(address);
});

test("every port of a host has its own address inside the host's network, and its own user id", () => {
  const ports = Array.from({ length: 4094 }, (_, slot) => 20_000 + slot);
  const addresses = ports.map((port) => addressOf("10.128.240.0/20", port));

  expect(new Set(addresses).size).toBe(4094);
  expect(addresses.every((address) => /^10\.128\.(24\d|25[0-5])\.\d+$/.test(address))).toBe(true);
  expect(new Set(ports.map(uidOf)).size).toBe(4094);
});

test("no user of a host can become the user of a node through /etc/subuid", () => {
  expect(uidOf(20_000)).toBeGreaterThan(1_879_048_191);
  expect(uidOf(24_093)).toBeLessThan(2 ** 31 - 200_000);
});

test("networks above 128.0.0.0 do not overflow", () => {
  expect(addressOf("192.168.240.0/20", 20_000)).toBe("192.168.240.2");
});
