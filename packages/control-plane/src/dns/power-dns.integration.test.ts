import { startPowerDns } from "@moorage/testkit/power-dns.ts";
import { expect, test } from "vitest";
import { createPowerDns } from "./power-dns.ts";

const zone = "names.test";
const name = `db-7-mysql-primary.${zone}`;

test("a client resolves the records that were set: created, repeated, changed and removed", async () => {
  await using server = await startPowerDns(zone);
  const dnsServer = createPowerDns(server.settings);
  const state = (v4: string[], v6: string[]) =>
    dnsServer.setRecords([
      { name, type: "A", addresses: v4 },
      { name, type: "AAAA", addresses: v6 },
    ]);

  for (let n = 0; n < 2; n++) {
    await state(["192.0.2.1"], ["2001:db8::1"]);
    expect(await server.lookUp(name)).toEqual(["192.0.2.1", "2001:db8::1"]);
  }
  expect(await server.timeToLive(name)).toBe(30);
  await state(["192.0.2.2", "192.0.2.3"], []);
  expect(await server.lookUp(name)).toEqual(["192.0.2.2", "192.0.2.3"]);
  for (let n = 0; n < 2; n++) {
    await state([], []);
    expect(await server.lookUp(name)).toEqual([]);
  }
});

// A name that resolves to one of two hosts, or by IPv4 only, would look like a fault of the client.
test("one refused record set refuses all of them", async () => {
  await using server = await startPowerDns(zone);
  const dnsServer = createPowerDns(server.settings);

  const stated = dnsServer.setRecords([
    { name, type: "A", addresses: ["192.0.2.1"] },
    { name: "other.example", type: "A", addresses: ["192.0.2.1"] },
  ]);

  await expect(stated).rejects.toThrow(/answered 422 for the zone names\.test/);
  expect(await server.lookUp(name)).toEqual([]);
});

test("a DNS server that is down or refuses the key causes an error", async () => {
  await using server = await startPowerDns(zone);
  const sets = [{ name, type: "A" as const, addresses: ["192.0.2.1"] }];

  await expect(createPowerDns({ ...server.settings, key: "wrong" }).setRecords(sets)).rejects.toThrow(/answered 401/);
  await server.stop();
  await expect(createPowerDns(server.settings).setRecords(sets)).rejects.toThrow(/fetch failed/);
  await server.start();
  await createPowerDns(server.settings).setRecords(sets);
  expect(await server.lookUp(name)).toEqual(["192.0.2.1"]);
});
