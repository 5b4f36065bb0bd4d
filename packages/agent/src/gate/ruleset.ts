import type { Family, Sources } from "./sources.ts";

/** One node's gate: who may reach it on this port of the host, and where the port leads. */
export type Opening = { node: string; port: number; address: string; address6: string; sources: Sources };

/** All ports that gates can have. Below the ephemeral range, and the control plane gives out no others. */
export const gatePorts = { first: 20_000, last: 24_093 } as const;

/** On every packet that a gate has let in, and on no other. Routing to nodes asks for it too (`network.ts`). */
export const admittedMark = 0x0200_0000;
const mark = `0x${admittedMark.toString(16).padStart(8, "0")}`;

export const table = "inet moorage";
const chainOf = (port: number): string => `db_${port}`;
export const setOf = (family: Family, port: number): string => `${family}_${port}`;
const types: Record<Family, string> = { v4: "ipv4_addr", v6: "ipv6_addr" };
const families: readonly Family[] = ["v4", "v6"];

/**
 * The whole table, in place of whatever it was. Without openings it is the closed one.
 *
 * - gate: each packet of a connection is looked at on its way in, not only the first, so a source that was taken off a
 *   list is cut at its next packet. Replies have no local destination and pass by.
 * - Errors of routers about our replies belong to connections that were let in, and must find their node: without them
 *   a path with a smaller MTU is a black hole.
 * - A source that is not on the list meets silence over IPv4, and a reset over IPv6: clients try a name's IPv6 address
 *   first, and one whose IPv4 address alone is listed must come to that without waiting for a time-out.
 * - nodes: only what a gate let in is passed on to a node, and it goes nowhere else, should the node not be there; a
 *   node answers and begins nothing, neither through its host nor with it.
 */
export const wholeTable = (openings: readonly Opening[]): string => `table ${table}
delete table ${table}
table ${table} {
${map("gates", "verdict", openings, ({ port }) => `goto ${chainOf(port)}`)}
${map("node4", "ipv4_addr", openings, ({ address }) => address)}
${map("node6", "ipv6_addr", openings, ({ address6 }) => address6)}
${openings.map(block).join("")}
  chain knock {
    tcp dport vmap @gates
    drop
  }
  chain gate {
    type filter hook prerouting priority -150; policy accept;
    fib daddr type local meta l4proto { tcp, udp } th dport ${gatePorts.first}-${gatePorts.last} goto knock
    fib daddr type local meta l4proto { icmp, ipv6-icmp } ct state related meta mark set meta mark | ${mark}
  }
  chain lead {
    type nat hook prerouting priority -100; policy accept;
    meta mark & ${mark} != 0 dnat ip to tcp dport map @node4 : 3306
    meta mark & ${mark} != 0 dnat ip6 to tcp dport map @node6 : 3306
  }
  chain nodes {
    type filter hook forward priority 0; policy accept;
    oifname "mn-*" meta mark & ${mark} == 0 drop
    oifname != "mn-*" meta mark & ${mark} != 0 drop
    iifname "mn-*" ct direction reply accept
    iifname "mn-*" drop
  }
  chain host {
    type filter hook input priority 0; policy accept;
    iifname "mn-*" ct state new drop
  }
}
`;

export const openText = (opening: Opening): string => {
  const { port, address, address6 } = opening;
  return `table ${table} {
${block(opening)}}
add element ${table} node4 { ${port} : ${address} }
add element ${table} node6 { ${port} : ${address6} }
add element ${table} gates { ${port} : goto ${chainOf(port)} }
`;
};

/** Only the lists change; the way to the node stays. */
export const changeText = ({ port, sources }: Opening): string =>
  families
    .map((family) => {
      const flush = `flush set ${table} ${setOf(family, port)}\n`;
      if (sources[family].length === 0) return flush;
      return `${flush}add element ${table} ${setOf(family, port)} ${elements(sources, family)}\n`;
    })
    .join("");

export const closeText = (port: number): string => `delete element ${table} gates { ${port} }
delete element ${table} node4 { ${port} }
delete element ${table} node6 { ${port} }
delete chain ${table} ${chainOf(port)}
delete set ${table} ${setOf("v4", port)}
delete set ${table} ${setOf("v6", port)}
`;

const block = ({ port, sources }: Opening): string => `${families.map((family) => set(family, port, sources)).join("")}\
  chain ${chainOf(port)} {
    ip saddr @${setOf("v4", port)} meta mark set meta mark | ${mark} accept
    ip6 saddr @${setOf("v6", port)} meta mark set meta mark | ${mark} accept
    meta nfproto ipv6 meta l4proto tcp reject with tcp reset
    drop
  }
`;

const set = (family: Family, port: number, sources: Sources): string => `  set ${setOf(family, port)} {
    type ${types[family]}; flags interval;
${sources[family].length === 0 ? "" : `    elements = ${elements(sources, family)}\n`}  }
`;

const elements = (sources: Sources, family: Family): string =>
  `{ ${sources[family].map(({ text }) => text).join(", ")} }`;

const map = (name: string, to: string, openings: readonly Opening[], value: (opening: Opening) => string): string => {
  const pairs = openings.map((opening) => `${opening.port} : ${value(opening)}`).join(", ");
  return `  map ${name} {
    type inet_service : ${to};
${pairs === "" ? "" : `    elements = { ${pairs} }\n`}  }`;
};
