import { expect, test } from "vitest";
import { decide } from "./decide.ts";
import type { Facts } from "./gather.ts";
import { testSpec } from "./testing/node-spec.ts";

const right: Facts = {
  image: true,
  volume: true,
  data: true,
  network: true,
  container: "running",
  current: true,
  credentials: 1,
  certificate: "right",
  gate: true,
};
const nothing: Facts = {
  image: false,
  volume: false,
  data: false,
  network: false,
  container: "absent",
  current: false,
  credentials: 0,
  certificate: "absent",
  gate: false,
};

const provisioned: [string, Partial<Facts>, string[]][] = [
  ["all as it should be", {}, []],
  ["unmounted", { volume: false, data: false }, ["the volume is not mounted"]],
  ["never unpacked", { data: false }, ["there is no data directory"]],
  ["no namespace", { network: false, current: false }, ["there is no network", "the container is not the wanted one"]],
  ["killed", { container: "stopped" }, ["the container is not running"]],
  ["another plan", { current: false }, ["the container is not the wanted one"]],
  ["removed", { container: "absent", current: false }, ["there is no container"]],
  ["a new password", { credentials: 0 }, ["the password is not set"]],
  ["no certificate", { certificate: "absent" }, ["there is no certificate"]],
  ["a certificate for other names", { certificate: "outdated" }, ["the certificate is not the wanted one"]],
  ["a new certificate", { certificate: "unused" }, ["the certificate is not in use"]],
  ["dead, with an old certificate", { container: "stopped", certificate: "ending" }, ["the container is not running"]],
];
test.each(provisioned)("%s", (_, change, because) => {
  expect(decide(testSpec(), { ...right, ...change })).toEqual(
    because.length === 0 ? { kind: "nothing" } : { kind: "provision", because },
  );
});

test("a password older than the applied one is not asked for again", () => {
  expect(decide(testSpec(), { ...right, credentials: 2 })).toEqual({ kind: "nothing" });
});

test("a certificate that ends soon is renewed while the node serves", () => {
  expect(decide(testSpec(), { ...right, certificate: "ending" })).toEqual({ kind: "renew" });
});

test("a new list alone touches nothing but the gate", () => {
  expect(decide(testSpec(), { ...right, gate: false })).toEqual({ kind: "gate" });
});

const buried: [string, Facts, boolean][] = [
  ["a running node", right, true],
  ["a container without a volume", { ...nothing, container: "stopped" }, true],
  ["a volume without a container", { ...nothing, image: true }, true],
  ["nothing at all", nothing, false],
];
test.each(buried)("a tombstone for %s", (_, facts, guarded) => {
  expect(decide(testSpec({ tombstone: { operation: 1 } }), facts)).toEqual({ kind: "bury", guarded });
});
