import { newRequest } from "@moorage/testkit/certificates.ts";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { type Gateway, type Identity, startGateway } from "#testing/gateway.ts";
import { newWorld, type World } from "#testing/world.ts";
import { addSharedCertificatesGauge } from "./host-sources.ts";

const [ITS_OWN, ANOTHER] = ["127.0.0.1", "127.0.0.2"];
const MINUTE_MS = 60_000;

const later = (world: World, minutes: number): void => {
  world.time.now = new Date(world.time.now.getTime() + minutes * MINUTE_MS);
};
const report = (gateway: Gateway, as: Identity, from: string) =>
  gateway.post({ ...as, from }, "/v1/observed", { complete: true, nodes: [], unknown: [] });
const sharedBy = async (world: World): Promise<string[][]> => {
  const { body } = await world.operator.get<{ data: { shared_by: string[] }[] }>("/admin/hosts");
  return body.data.map(({ shared_by }) => shared_by);
};
async function sharedGauge(world: World): Promise<string | undefined> {
  const registry = new Registry();
  addSharedCertificatesGauge(registry, world);
  return /^moorage_host_certificates_shared (\d+)$/m.exec(await registry.metrics())?.[1];
}

test("a certificate that two addresses use in turn is shown to the operator for a day", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const [copied, other] = [await gateway.enrolledHost(), await gateway.enrolledHost()];
  await report(gateway, other, ITS_OWN);
  await report(gateway, copied, ITS_OWN);
  expect([await sharedBy(world), await sharedGauge(world)]).toEqual([[[], []], "0"]);

  // The thief calls once, and the host continues.
  expect(await report(gateway, copied, ANOTHER)).toMatchObject({ status: 200 });
  later(world, 1);
  expect(await report(gateway, copied, ITS_OWN)).toMatchObject({ status: 200 });

  expect([await sharedBy(world), await sharedGauge(world)]).toEqual([[[ITS_OWN, ANOTHER], []], "1"]);
  later(world, 24 * 60 - 1);
  expect(await sharedGauge(world)).toBe("1");
  later(world, 1);
  expect([await sharedBy(world), await sharedGauge(world)]).toEqual([[[], []], "0"]);
});

test("a host that moves to another address, and one that returns to its first a day later, share nothing", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  for (const from of [ITS_OWN, ITS_OWN, ANOTHER, ANOTHER]) await report(gateway, host, from);
  expect(await sharedBy(world)).toEqual([[]]);
  later(world, 24 * 60);
  await report(gateway, host, ITS_OWN);

  expect(await sharedBy(world)).toEqual([[]]);
});

test("the warning ends when the host enrols a new key", async () => {
  await using world = await newWorld();
  await using gateway = await startGateway(world);
  const host = await gateway.enrolledHost();
  for (const from of [ITS_OWN, ANOTHER, ITS_OWN]) await report(gateway, host, from);
  expect(await sharedBy(world)).toEqual([[ITS_OWN, ANOTHER]]);

  const path = `/admin/hosts/${host.name}/enrol-again`;
  const { enrol_token: token } = (await world.operator.post<{ enrol_token: string }>(path, {})).body;
  const { key, csr } = await newRequest();
  const { certificate } = (await gateway.enrol(token, csr)).body;
  await report(gateway, { key, certificate }, ITS_OWN);

  expect(await sharedBy(world)).toEqual([[]]);
});
