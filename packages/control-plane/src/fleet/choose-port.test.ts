import { trials } from "@moorage/testkit/turns.ts";
import { expect, test } from "vitest";
import { choosePort, type PortUse } from "./choose-port.ts";
import { type Candidate, type Need, place } from "./placement.ts";

const everyPort = (use: Omit<PortUse, "port">): PortUse[] =>
  Array.from({ length: 4094 }, (_, slot) => ({ port: 20_000 + slot, ...use }));

test("a port that no host of the region has comes first, then the one that the fewest have", () => {
  const used = everyPort({ hosts: 3, isOnChosen: false });

  expect(choosePort(used.slice(1), 77)).toBe(20_000);
  expect(choosePort([{ port: 20_500, hosts: 2, isOnChosen: false }, ...used.toSpliced(500, 1)], 77)).toBe(20_500);
});

test("a port that a chosen host has is never used", () => {
  const used = everyPort({ hosts: 1, isOnChosen: true });

  expect(choosePort([{ port: 20_007, hosts: 700, isOnChosen: false }, ...used.toSpliced(7, 1)], 1)).toBe(20_007);
  expect(choosePort(used, 1)).toBeUndefined();
});

test("databases of an empty region begin at different ports", () => {
  const ports = Array.from({ length: 4094 }, (_, id) => choosePort([], id));

  expect(new Set(ports).size).toBe(4094);
});

/** Of the region that is filled. Another database has a port on at most a few of them. */
const HOSTS = trials({ short: 240, all: 720 });

/** A region with hosts for 48 nodes each, of which 46 are used when it is filled. */
function createRegion() {
  const now = new Date("2026-11-15T12:00:00Z");
  const hosts = Array.from({ length: HOSTS }, (_, id): Candidate & { ports: Set<number> } => ({
    id,
    failure_domain: `rack-${id % 36}`,
    memory_mb: 48,
    disk_mb: 48,
    reserved_memory_mb: 0,
    reserved_disk_mb: 0,
    trash_mb: 0,
    seen_at: now,
    ports: new Set(),
  }));
  const uses = everyPort({ hosts: 0, isOnChosen: false });
  const need = (count: number): Need => ({ count, memory_mb: 1, disk_mb: 1 });
  const hostOf = (id: number) => hosts[id] as (typeof hosts)[number];
  const useOf = (port: number) => uses[port - 20_000] as PortUse;
  const hold = (id: number, port: number, by: 1 | -1): void => {
    const host = hostOf(id);
    host.reserved_memory_mb += by;
    host.reserved_disk_mb += by;
    useOf(port).hosts += by;
    if (by === 1) host.ports.add(port);
    else host.ports.delete(port);
  };
  return {
    create(id: number, count: number) {
      const chosen = place(hosts, need(count), now);
      if (chosen === undefined) throw new Error("The region is full.");
      const taken = chosen.flatMap((host) => [...hostOf(host).ports]);
      for (const port of taken) useOf(port).isOnChosen = true;
      const port = choosePort(uses, id);
      for (const each of taken) useOf(each).isOnChosen = false;
      if (port === undefined) throw new Error("No port is free.");
      for (const host of chosen) hold(host, port, 1);
      return { count, port, chosen };
    },
    delete({ port, chosen }: { port: number; chosen: readonly number[] }): void {
      for (const host of chosen) hold(host, port, -1);
    },
    /** Whether a host has room and the port for a replacement. */
    hasCandidate: ({ port }: { port: number }): boolean => {
      const candidates = hosts.filter((host) => !host.ports.has(port));
      return candidates.length >= (HOSTS * 5) / 6 && place(candidates, need(1), now) !== undefined;
    },
  };
}

test(`in a filled region of ${HOSTS} hosts whose databases were all replaced three times every node has five sixths of them to go to`, () => {
  const region = createRegion();
  let id = 0;
  // A third of them has three nodes: 46 nodes to a host.
  const databases = Array.from({ length: (HOSTS * 46 * 3) / 5 }, (_, n) => region.create(++id, n % 3 === 0 ? 3 : 1));
  // Each third of the places, in another order than they were filled.
  for (let round = 0; round < 3; round++)
    for (let n = 0; n < databases.length; n++) {
      const at = (n * 7919 + round) % databases.length;
      const old = databases[at] as (typeof databases)[number];
      region.delete(old);
      databases[at] = region.create(++id, old.count);
    }

  const three = databases.filter(({ count }) => count === 3);
  expect(three).toHaveLength(databases.length / 3);
  expect(three.filter((database) => !region.hasCandidate(database))).toEqual([]);
});
