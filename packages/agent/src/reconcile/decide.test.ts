import { expect, test } from "vitest";
import { decide } from "./decide.ts";
import type { Facts } from "./gather.ts";
import { testSpec } from "../testing/node-spec.ts";

const right: Facts = {
  image: true,
  volume: true,
  otherVolume: false,
  discarded: false,
  data: true,
  network: true,
  container: "running",
  current: true,
  credentials: 1,
  certificate: "right",
  keyring: "right",
  grown: true,
  temporary: true,
  firewall: true,
  takesPart: true,
  baseline: true,
};
const nothing: Facts = {
  image: false,
  volume: false,
  otherVolume: false,
  discarded: false,
  data: false,
  network: false,
  container: "absent",
  current: false,
  credentials: 0,
  certificate: "absent",
  keyring: "right",
  grown: true,
  temporary: true,
  firewall: false,
  takesPart: true,
  baseline: true,
};

const provisioned: [string, Partial<Facts>, string[]][] = [
  ["all as it should be", {}, []],
  ["unmounted", { volume: false, data: false }, ["the volume is not mounted"]],
  [
    "on another timeline",
    { volume: false, otherVolume: true, discarded: true },
    ["the volume of another timeline is mounted"],
  ],
  ["never unpacked", { data: false }, ["there is no data directory"]],
  ["no namespace", { network: false, current: false }, ["there is no network", "the container differs from the spec"]],
  ["killed", { container: "stopped" }, ["the container is not running"]],
  ["another plan", { current: false }, ["the container differs from the spec"]],
  ["removed", { container: "absent", current: false }, ["there is no container"]],
  ["a new password", { credentials: 0 }, ["the password is not set"]],
  ["no certificate", { certificate: "absent" }, ["there is no certificate"]],
  ["a certificate for other names", { certificate: "outdated" }, ["the certificate differs from the spec"]],
  ["a new certificate", { certificate: "unused" }, ["the certificate is not in use"]],
  ["a plan with more disk", { grown: false }, ["the volume is smaller than the plan's"]],
  ["rebooted, encrypted", { temporary: false }, ["there is no place for temporary files"]],
  ["keys lost", { keyring: "absent" }, ["the encryption keys are not on the disk"]],
  ["new keys", { keyring: "unsent" }, ["the encryption keys have not been sent to the gateway"]],
  ["dead, with an old certificate", { container: "stopped", certificate: "ending" }, ["the container is not running"]],
];
test.each(provisioned)("%s", (_, change, because) => {
  expect(decide(testSpec(), { ...right, ...change })).toEqual(
    because.length === 0 ? { kind: "nothing" } : { kind: "provision", because },
  );
});

test("a password older than the applied one is not requested again", () => {
  expect(decide(testSpec(), { ...right, credentials: 2 })).toEqual({ kind: "nothing" });
});

test("a certificate that expires soon is renewed while the node serves", () => {
  expect(decide(testSpec(), { ...right, certificate: "ending" })).toEqual({ kind: "renew" });
});

test("a new allow list changes only the firewall", () => {
  expect(decide(testSpec(), { ...right, firewall: false })).toEqual({ kind: "firewall" });
});

test("a running member that is out of its group gets only the group steps", () => {
  expect(decide(testSpec(), { ...right, takesPart: false, firewall: false })).toEqual({ kind: "group" });
  expect(decide(testSpec(), { ...right, takesPart: false, container: "stopped" })).toMatchObject({ kind: "provision" });
});

test("a discarded timeline is removed only once the desired one serves", () => {
  expect(decide(testSpec(), { ...right, discarded: true })).toEqual({ kind: "discard" });
  expect(decide(testSpec(), { ...right, discarded: true, container: "stopped" })).toMatchObject({ kind: "provision" });
});

const resting: [string, Partial<Facts>, "power-off" | "rest"][] = [
  ["runs", {}, "power-off"],
  ["has stopped, with its firewall open", { container: "stopped", firewall: false }, "power-off"],
  ["has stopped", { container: "stopped" }, "rest"],
  ["has no container", { container: "absent", current: false }, "rest"],
  ["came back from a power cut", { container: "stopped", volume: false, data: false, network: false }, "rest"],
  ["has an old password", { container: "stopped", credentials: 0 }, "rest"],
];
test.each(resting)("a powered-off node that %s", (_, change, kind) => {
  expect(decide(testSpec({ power: "off" }), { ...right, ...change })).toEqual({ kind });
});

const buried: [string, Facts, boolean][] = [
  ["a running node", right, true],
  ["a container without a volume", { ...nothing, container: "stopped" }, true],
  ["a volume without a container", { ...nothing, image: true }, true],
  ["nothing at all", nothing, false],
];
test.each(buried)("a tombstone for %s", (_, facts, guarded) => {
  expect(decide(testSpec({ tombstone: { operation: 1 } }), facts)).toEqual({ kind: "bury", guarded });
  expect(decide(testSpec({ tombstone: { operation: 1 }, power: "off" }), facts)).toEqual({ kind: "bury", guarded });
});
