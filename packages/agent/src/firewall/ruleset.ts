import { readOnlyPortOf } from "@moorage/contract/agent";
import { admittedMark } from "../node/network.ts";
import type { Family, Sources } from "./sources.ts";

/** Who may reach this port of the host, and the node that it leads to; without `to`, a process of the host. */
export type Opening = {
  node: string;
  port: number;
  to?: { address: string; address6: string };
  sources: Sources;
};

/**
 * How a cluster member and its peers reach each other: the peers connect to `port` of its host, which leads to the
 * member; the member connects to the same port of their hosts, with its host's address (`own`) as source.
 */
export type Peering = { node: string; port: number; address: string; own: string; others: string[] };

/** All ports that the control plane assigns to databases. Below the ephemeral range. */
export const databasePorts = { first: 20_000, last: 24_093 } as const;
/** Including peer and read-only ports. Closed to every source that no rule allows. */
const closedPorts = { first: databasePorts.first, last: readOnlyPortOf(databasePorts.last) } as const;

const mark = `0x${admittedMark.toString(16).padStart(8, "0")}`;

export const table = "inet moorage";
export const chainOf = (port: number): string => `db_${port}`;
export const peerChainOf = (port: number): string => `peers_${port}`;
export const setOf = (family: Family, port: number): string => `${family}_${port}`;
const types: Record<Family, string> = { v4: "ipv4_addr", v6: "ipv6_addr" };
const families: readonly Family[] = ["v4", "v6"];

/** The elements of the maps and sets that all openings share; used to write them and to verify nft's listing. */
export type SharedLists = {
  ports: [port: number, chain: string][];
  node4: [port: number, address: string][];
  node6: [port: number, address: string][];
  /** Members, by peer port. */
  member4: [port: number, address: string][];
  /** The peers that a member may connect to, and its source address for that. */
  calls: [from: string, to: string, port: number][];
  callers: [address: string, as: string][];
};

export const sharedLists = (openings: readonly Opening[], peerings: readonly Peering[]): SharedLists => ({
  ports: [
    ...openings.map(({ port }): [number, string] => [port, chainOf(port)]),
    ...peerings.map(({ port }): [number, string] => [port, peerChainOf(port)]),
  ],
  node4: openings.flatMap(({ port, to }): [number, string][] => (to === undefined ? [] : [[port, to.address]])),
  node6: openings.flatMap(({ port, to }): [number, string][] => (to === undefined ? [] : [[port, to.address6]])),
  member4: peerings.map(({ port, address }) => [port, address]),
  calls: peerings.flatMap(({ address, port, others }) =>
    others.map((other): [string, string, number] => [address, other, port]),
  ),
  callers: peerings.map(({ address, own }) => [address, own]),
});

const element = {
  ports: ([port, chain]: [number, string]) => `${port} : goto ${chain}`,
  pair: ([key, value]: [number | string, string]) => `${key} : ${value}`,
  call: ([from, to, port]: [string, string, number]) => `${from} . ${to} . ${port}`,
};
const elementsOf = (lists: SharedLists): Record<keyof SharedLists, string[]> => ({
  ports: lists.ports.map(element.ports),
  node4: lists.node4.map(element.pair),
  node6: lists.node6.map(element.pair),
  member4: lists.member4.map(element.pair),
  calls: lists.calls.map(element.call),
  callers: lists.callers.map(element.pair),
});

/**
 * Replaces the whole table. Without openings, all database ports are closed.
 *
 * - firewall: each incoming packet is checked, not only the first of a connection, so a source removed from an allow
 *   list is cut off at its next packet. Replies to a node's clients have no local destination and are not checked;
 *   replies from a peer to a member have the host's address as destination and are accepted.
 * - ICMP errors about our replies belong to accepted connections and must reach the node: without them a path with a
 *   smaller MTU is a black hole.
 * - A source that is not allowed is dropped over IPv4 and reset over IPv6: clients try a name's IPv6 address first, and
 *   a client of which only the IPv4 address is allowed must fall back to it without waiting for a time-out.
 * - nodes: only accepted packets are forwarded to a node, and nowhere else if the node does not exist. A node answers
 *   but opens no connections, neither through its host nor to it, except a member's to its peers.
 */
export function wholeTable(openings: readonly Opening[], peerings: readonly Peering[]): string {
  const elements = elementsOf(sharedLists(openings, peerings));
  const list = (kind: string, name: keyof SharedLists, type: string): string =>
    `  ${kind} ${name} {
    type ${type};
${elements[name].length === 0 ? "" : `    elements = { ${elements[name].join(", ")} }\n`}  }`;
  return `table ${table}
delete table ${table}
table ${table} {
${list("map", "ports", "inet_service : verdict")}
${list("map", "node4", "inet_service : ipv4_addr")}
${list("map", "node6", "inet_service : ipv6_addr")}
${list("map", "member4", "inet_service : ipv4_addr")}
${list("set", "calls", "ipv4_addr . ipv4_addr . inet_service")}
${list("map", "callers", "ipv4_addr : ipv4_addr")}
${openings.map(block).join("")}${peerings.map(peerBlock).join("")}
  chain knock {
    tcp dport vmap @ports
    drop
  }
  chain firewall {
    type filter hook prerouting priority -150; policy accept;
    ct direction reply ct original ip saddr . ip saddr . tcp sport @calls meta mark set meta mark | ${mark} accept
    fib daddr type local meta l4proto { tcp, udp } th dport ${closedPorts.first}-${closedPorts.last} goto knock
    fib daddr type local meta l4proto { icmp, ipv6-icmp } ct state related meta mark set meta mark | ${mark}
  }
  chain route_to_node {
    type nat hook prerouting priority -100; policy accept;
    meta mark & ${mark} != 0 dnat ip to tcp dport map @node4 : 3306
    meta mark & ${mark} != 0 dnat ip6 to tcp dport map @node6 : 3306
    meta mark & ${mark} != 0 dnat ip to tcp dport map @member4
  }
  chain nodes {
    type filter hook forward priority 0; policy accept;
    oifname "mn-*" meta mark & ${mark} == 0 drop
    oifname != "mn-*" meta mark & ${mark} != 0 drop
    iifname "mn-*" ct direction reply accept
    iifname "mn-*" ip saddr . ip daddr . tcp dport @calls accept
    iifname "mn-*" drop
  }
  chain call {
    type nat hook postrouting priority 100; policy accept;
    ip saddr . ip daddr . tcp dport @calls snat ip to ip saddr map @callers
  }
  chain host {
    type filter hook input priority 0; policy accept;
    iifname "mn-*" ct state new drop
  }
}
`;
}

const shared = (verb: "add" | "delete", openings: readonly Opening[], peerings: readonly Peering[]): string =>
  Object.entries(elementsOf(sharedLists(openings, peerings)))
    .filter(([, elements]) => elements.length > 0)
    .map(([name, elements]) => `${verb} element ${table} ${name} { ${elements.join(", ")} }\n`)
    .join("");

export const openText = (opening: Opening): string => `table ${table} {
${block(opening)}}
${shared("add", [opening], [])}`;

/** Changes only the allowed sources; the route to the node stays. */
export const changeText = ({ port, sources }: Opening): string =>
  families
    .map((family) => {
      const flush = `flush set ${table} ${setOf(family, port)}\n`;
      if (sources[family].length === 0) return flush;
      return `${flush}add element ${table} ${setOf(family, port)} ${ranges(sources, family)}\n`;
    })
    .join("");

export const closeText = (opening: Opening): string => `${shared("delete", [opening], [])}\
delete chain ${table} ${chainOf(opening.port)}
delete set ${table} ${setOf("v4", opening.port)}
delete set ${table} ${setOf("v6", opening.port)}
`;

export const addPeeringText = (peering: Peering): string => `table ${table} {
${peerBlock(peering)}}
${shared("add", [], [peering])}`;

export const removePeeringText = (peering: Peering): string => `${shared("delete", [], [peering])}\
delete chain ${table} ${peerChainOf(peering.port)}
`;

const block = ({ port, sources }: Opening): string => `${families.map((family) => set(family, port, sources)).join("")}\
  chain ${chainOf(port)} {
    ip saddr @${setOf("v4", port)} meta mark set meta mark | ${mark} accept
    ip6 saddr @${setOf("v6", port)} meta mark set meta mark | ${mark} accept
    meta nfproto ipv6 meta l4proto tcp reject with tcp reset
    drop
  }
`;

const peerBlock = ({ port, own, others }: Peering): string => `  chain ${peerChainOf(port)} {
    ip saddr { ${[own, ...others].join(", ")} } meta mark set meta mark | ${mark} accept
    drop
  }
`;

const set = (family: Family, port: number, sources: Sources): string => `  set ${setOf(family, port)} {
    type ${types[family]}; flags interval;
${sources[family].length === 0 ? "" : `    elements = ${ranges(sources, family)}\n`}  }
`;

const ranges = (sources: Sources, family: Family): string =>
  `{ ${sources[family].map(({ text }) => text).join(", ")} }`;
