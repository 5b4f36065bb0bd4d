import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { type Machine, newMachine } from "./machine.ts";

const units = ["api", "auth", "worker", "fleet", "cards", "image-server", "migrate", "gatekeeper", "agent"];
const services = [...units, "firewall-closed"].map((unit) => `moorage-${unit}.service`);
/** Where packages may put files: nothing may be left there. */
const places = ["usr/lib/moorage", "usr/bin/moorage", "usr/lib/systemd/system/moorage*", "etc/moorage/*.env"];

let machine: Machine;
beforeAll(() => {
  machine = newMachine(inject("release"));
  machine.run("dpkg -i /release/*.deb");
});
afterAll(() => machine.remove());

test("the command line of the package prints its version and commit", () => {
  expect(machine.run("moorage --version")).toMatch(/^moorage \d+\.\d+\.\d+ \([0-9a-f]{12}\)\n$/);
});

test.each(["api", "auth", "worker", "fleet", "cards", "image-server", "migrate"])(
  "%s of the package starts, and names the settings that it lacks",
  (name) => {
    const program = `/usr/lib/moorage/control-plane/packages/control-plane/src/bin/${name}.ts`;
    expect(machine.run(`/usr/lib/moorage/node ${program} 2>&1 || true`)).toContain("is not set");
  },
);

test.each(["agent", "gatekeeper"])("%s of the package starts, and names the settings that it lacks", (name) => {
  const program = `/usr/lib/moorage/agent/packages/agent/src/bin/${name}.ts`;
  expect(machine.run(`/usr/lib/moorage/node ${program} 2>&1 || true`)).toContain("is not set");
});

test("systemd-analyze verify has nothing to say about the units", () => {
  expect(machine.run(`systemd-analyze verify ${services.join(" ")} 2>&1 || true`)).toBe("");
});

test.each(units.filter((unit) => unit !== "agent"))("%s is exposed to at most 3.0 by systemd's measure", (unit) => {
  const security = `systemd-analyze security --offline=yes --threshold=30 --no-pager moorage-${unit}.service`;
  expect(machine.run(`${security} >/dev/null 2>&1 && echo within || ${security} | tail -1`)).toBe("within\n");
});

test("each process of the control plane has a user of its own, and those with secrets read the key ring", () => {
  const users = machine
    .run("getent passwd | cut -d: -f1 | grep ^moorage-; getent group moorage-keys")
    .trim()
    .split("\n");
  expect(users.slice(0, -1).toSorted((a, b) => a.localeCompare(b))).toEqual(
    ["api", "auth", "cards", "fleet", "image-server", "migrate", "worker"].map((name) => `moorage-${name}`),
  );
  const readers = users
    .at(-1)
    ?.split(":")
    .at(-1)
    ?.split(",")
    .toSorted((a, b) => a.localeCompare(b));
  expect(readers).toEqual(["moorage-api", "moorage-auth", "moorage-fleet", "moorage-worker"]);
});

// The last test: it removes what the others use.
test("after a purge nothing of the packages is left", () => {
  expect(places.flatMap((place) => globSync(place, { cwd: machine.root })).length).toBeGreaterThan(20);
  machine.run("dpkg --purge moorage-control-plane moorage-agent moorage moorage-node");
  expect(places.flatMap((place) => globSync(place, { cwd: machine.root }))).toEqual([]);
  expect(existsSync(join(machine.root, "usr/lib/moorage"))).toBe(false);
});
