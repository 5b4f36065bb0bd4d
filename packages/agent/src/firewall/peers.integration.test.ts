import { randomUUID } from "node:crypto";
import type { NodeSpec } from "@moorage/contract/agent";
import { peerPortOf, readOnlyPortOf } from "@moorage/contract/agent";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type FirewallHost, makeFirewallHost } from "../testing/firewall-host.ts";
import { type Lan, makeLan } from "../testing/lan.ts";
import { testSpec } from "../testing/node-spec.ts";

// Real packets between three hosts; each member runs a small server that answers with the client's address.
const port = 20_011;
const peerPort = peerPortOf(port);
const nodes = [randomUUID(), randomUUID(), randomUUID()];
const addressOfNode = "198.18.59.70"; // the same on every host: only its own host has a route to it
let hosts: FirewallHost[];
let servers: Awaited<ReturnType<FirewallHost["node"]>>[];
let lan: Lan;
const host = (index: number): FirewallHost => hosts[index] as FirewallHost;
const server = (index: number) => servers[index] as (typeof servers)[number];

const spec = (index: number, among = [0, 1, 2]): NodeSpec =>
  testSpec({
    node: nodes[index] as string,
    network: { address: addressOfNode, port },
    firewall: { sources: ["0.0.0.0/0"] },
    cluster: {
      replication: "semi_synch",
      group: randomUUID(),
      members_version: 1,
      members: among.map((each, ordinal) => ({
        node: nodes[each] as string,
        ordinal,
        host: `host-${each}`,
        address: lan.address(each),
      })),
    },
  });

beforeAll(async () => {
  hosts = await Promise.all(
    [56, 57, 58].map((each) => makeFirewallHost(`moor-t-p${each}`, `198.18.${each}`, `fd00:${each}`)),
  );
  lan = makeLan(
    "moor-t-plan",
    "198.18.55",
    hosts.map(({ namespace }) => namespace),
  );
  servers = await Promise.all(
    hosts.map(async (each, index) => {
      const made = await each.node(nodes[index] as string, addressOfNode, lan.address(index));
      await made.call("listen", peerPort);
      return made;
    }),
  );
});
afterAll(async () => {
  await Promise.all((hosts ?? []).map((each) => each.close()));
  lan?.close();
});
beforeEach(async () => {
  for (const [index, { firewall }] of hosts.entries()) await firewall.call("start", [spec(index)]);
});

test("every member reaches all members by their hosts' addresses, with its own host's address as source", async () => {
  for (const [from, caller] of servers.entries())
    for (const to of [0, 1, 2])
      expect(await caller.call("greeting", { host: lan.address(to), port: peerPort })).toBe(
        `::ffff:${lan.address(from)}`,
      );
});

test("only the addresses of the cluster's hosts reach a member's peer port", async () => {
  const place = { host: lan.address(0), port: peerPort };
  expect(await host(0).client.call("probe", { host: host(0).address, port: peerPort })).toBe("silent");
  // Host 1 itself, from its default source address, and from its address in the cluster.
  expect(await host(1).firewall.call("reaches", place.host, peerPort, lan.first(1))).toBe(false);
  expect(await host(1).firewall.call("reaches", place.host, peerPort, lan.address(1))).toBe(true);
  await host(0).firewall.call("allowPeers", spec(0, [0, 2]));
  expect(await server(1).call("probe", place)).toBe("silent");
  expect(await server(2).call("probe", place)).toBe("open");
});

test("a member can connect only to its peers' peer ports", async () => {
  await host(1).client.call("listen", 8080);
  const places = [
    { host: lan.address(1), port: port },
    { host: lan.address(1), port: peerPort + 1 },
    { host: lan.first(1), port: peerPort },
    { host: host(1).address, port: peerPort },
    { host: host(0).clientAddress, port: 8080 },
  ];
  const found = await Promise.all(places.map((place) => server(0).call("probe", place)));
  expect(found.filter((outcome) => outcome === "open")).toEqual([]);
});

test("a peer connection survives a rewrite of the table and the replacement of another peer", async () => {
  const connection = await server(0).call("dial", { host: lan.address(1), port: peerPort });
  await host(0).firewall.call("start", [spec(0)]);
  await host(1).firewall.call("start", [spec(1)]);
  expect(await server(0).call("echo", connection, "one")).toContain("one");
  await host(0).firewall.call("allowPeers", spec(0, [0, 1]));
  await host(1).firewall.call("allowPeers", spec(1, [0, 1]));
  expect(await server(0).call("echo", connection, "two")).toContain("two");
  expect(await server(2).call("probe", { host: lan.address(0), port: peerPort })).toBe("silent");
  expect(await host(0).firewall.call("allowsPeers", spec(0))).toBe(false);
  expect(await host(0).firewall.call("allowsPeers", spec(0, [0, 1]))).toBe(true);
});

test("a member's client ports reach a process on the host, for allowed sources only", async () => {
  const [clients, readers] = [port, readOnlyPortOf(port)].map((each) => ({ host: host(0).address, port: each }));
  if (clients === undefined || readers === undefined) throw new Error("two ports");
  await host(0).firewall.call("listen", port);
  await host(0).firewall.call("listen", readOnlyPortOf(port));
  const from = (localAddress: string) =>
    Promise.all([clients, readers].map((place) => host(0).client.call("probe", { ...place, localAddress })));
  expect(await from("203.0.113.66")).toEqual(["open", "open"]);
  await host(0).firewall.call("open", { ...spec(0), firewall: { sources: [`${host(0).clientAddress}/32`] } });
  expect(await from("203.0.113.66")).toEqual(["silent", "silent"]);
  expect(await from(host(0).clientAddress)).toEqual(["open", "open"]);
  await host(0).firewall.call("open", { ...spec(0), power: "off" });
  expect(await from(host(0).clientAddress)).toEqual(["silent", "silent"]);
});

test("a removed member leaves no rule", async () => {
  await host(0).firewall.call("close", spec(0));
  await host(0).firewall.call("disallowPeers", spec(0));
  expect(host(0).nft("list table inet moorage")).not.toMatch(/_2\d{4}|elements = \{ (?!icmp|tcp)/);
  expect(await server(1).call("probe", { host: lan.address(0), port: peerPort })).toBe("silent");
  // The removal is not taken for tampering afterwards.
  await host(0).firewall.call("allowPeers", spec(0));
  expect(await server(1).call("probe", { host: lan.address(0), port: peerPort })).toBe("open");
});
