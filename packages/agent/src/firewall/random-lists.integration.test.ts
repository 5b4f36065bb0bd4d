import { randomUUID } from "node:crypto";
import { isIPv6, SocketAddress } from "node:net";
import type { NodeSpec } from "@moorage/contract/agent";
import { type Cidr, cidrFrom, otherMatcher, probes } from "@moorage/testkit/cidr.ts";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FirewallHost, makeFirewallHost } from "../testing/firewall-host.ts";
import { testSpec } from "../testing/node-spec.ts";
import { admittedMark } from "../node/network.ts";

/** Rounds of 20 lists each. Set MOORAGE_TRIALS=50 for the long form. */
const rounds = Number(process.env["MOORAGE_TRIALS"] ?? 10);
const databases = 20;
const probesEach = 50;

let host: FirewallHost;
beforeAll(async () => {
  host = await makeFirewallHost("moor-t-rl", "198.18.79", "fd00:79");
  // Records, right after the firewall and before any other decision, what it accepted, by address and port.
  host.nft(`-f - <<'RULES'
table inet seen {
  set v4 { typeof ip saddr . tcp dport; flags dynamic; size 65535; }
  set v6 { typeof ip6 saddr . tcp dport; flags dynamic; size 65535; }
  chain seen {
    type filter hook prerouting priority -140;
    meta mark & ${admittedMark} != 0 add @v4 { ip saddr . tcp dport }
    meta mark & ${admittedMark} != 0 add @v6 { ip6 saddr . tcp dport }
  }
}
RULES`);
  // Resolves the neighbours first: while a link address is unknown, the kernel queues only the first packets to it.
  for (const address of [host.address, host.address6]) await host.client.call("probe", { host: address, port: 1 });
});
afterAll(() => host?.close());

/** Sources that no packet on the wire can have: the sender's own kernel refuses them. */
const unsendable = otherMatcher(
  [
    "0.0.0.0/8",
    "127.0.0.0/8",
    "224.0.0.0/4",
    "255.255.255.255/32",
    "::/95",
    "::ffff:0:0/96",
    "fe80::/10",
    "ff00::/8",
  ].map((text) => {
    const [address = "", prefix] = text.split("/");
    return { text, address, prefix: Number(prefix), family: isIPv6(address) ? "ipv6" : "ipv4" };
  }),
);

/**
 * 50 probes per list. Each probe is a real SYN from that address; the result is the firewall's mark on the packet. Half
 * of the lists are written with the whole table, half replace another list. The expected result comes from Node's
 * BlockList, which shares no code with ours.
 */
test("for random lists the kernel accepts exactly what an independent matcher accepts", async () => {
  let [probed, admitted] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    const lists: Cidr[][] = fc.sample(fc.array(fc.integer().map(cidrFrom), { maxLength: 40, size: "max" }), {
      numRuns: databases,
      seed: round,
    });
    const specs: NodeSpec[] = lists.map((list, index) =>
      testSpec({
        node: randomUUID(),
        network: { address: host.nodeAddress(index), port: 20_000 + index },
        firewall: { sources: list.map(({ text }) => text) },
      }),
    );
    const numbers = fc.sample(fc.integer(), { numRuns: 3 * probesEach, seed: round });
    const chosen = lists.map((list) =>
      [...new Map(probes(list, numbers).map((probe) => [probe.address, probe])).values()]
        .filter((probe) => !unsendable(probe))
        .slice(0, probesEach),
    );
    if (round % 2 === 0) await host.firewall.call("start", specs);
    else for (const spec of specs) await host.firewall.call("open", spec);

    host.nft("'flush set inet seen v4; flush set inet seen v6'");
    const matchers = lists.map(otherMatcher);
    const knocks = chosen.flatMap((some, index) =>
      some.map((probe) => ({
        source: probe.address,
        host: probe.family === "ipv4" ? host.address : host.address6,
        port: 20_000 + index,
        key: keyOf(probe.address, 20_000 + index),
        isAllowed: matchers[index]?.(probe) === true,
      })),
    );
    expect(await host.client.call("knocks", knocks)).toEqual([]);

    let seen = allSeen();
    const unseen = () => knocks.filter(({ key, isAllowed }) => isAllowed && !seen.has(key));
    // A busy machine drops packets from the queue between two namespaces: those did not reach the firewall.
    for (const end = Date.now() + 60_000; unseen().length > 0 && Date.now() < end; seen = allSeen())
      expect(await host.client.call("knocks", unseen())).toEqual([]);
    for (const [index, some] of chosen.entries()) {
      expect(some.length).toBe(probesEach);
      const allowed = otherMatcher(lists[index] ?? []);
      for (const probe of some) {
        const key = keyOf(probe.address, 20_000 + index);
        const context = { round, database: index, list: lists[index]?.map(({ text }) => text), probe };
        if (seen.has(key) !== allowed(probe)) throw new Error(JSON.stringify({ ...context, letIn: seen.has(key) }));
        probed += 1;
        admitted += Number(seen.has(key));
      }
    }
  }
  expect(probed).toBe(rounds * databases * probesEach);
  // Both results must be frequent, or the test would prove little.
  expect(admitted / probed).toBeGreaterThan(0.2);
  expect(admitted / probed).toBeLessThan(0.8);
  process.stdout.write(`random lists: ${rounds * databases} lists, ${probed} SYNs, ${admitted} let in, 0 wrong\n`);
}, 1_800_000);

/** nft does not write every IPv6 address as we do. */
const keyOf = (address: string, port: number): string =>
  `${new SocketAddress({ address, family: isIPv6(address) ? "ipv6" : "ipv4" }).address} ${port}`;

const allSeen = (): Set<string> => new Set([...seenIn("v4"), ...seenIn("v6")]);

function seenIn(set: "v4" | "v6"): string[] {
  type Listing = { nftables: { set?: { elem?: { concat: [string, number] }[] } }[] };
  const listing = JSON.parse(host.nft(`--json list set inet seen ${set}`)) as Listing;
  const elements = listing.nftables.flatMap((object) => object.set?.elem ?? []);
  return elements.map(({ concat: [address, port] }) => keyOf(address, port));
}
