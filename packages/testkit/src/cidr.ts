import { createHash } from "node:crypto";
import { BlockList, isIPv6, SocketAddress } from "node:net";

export type Cidr = { text: string; address: string; prefix: number; family: "ipv4" | "ipv6" };
export type Probe = { address: string; family: "ipv4" | "ipv6" };

const widths = { ipv4: 32, ipv6: 128 } as const;
const ones = (bits: number): bigint => (1n << BigInt(bits)) - 1n;

function write(value: bigint, family: "ipv4" | "ipv6"): string {
  const hex = value.toString(16).padStart(widths[family] / 4, "0");
  const pattern = family === "ipv4" ? /../g : /..../g;
  const parts = hex.match(pattern) ?? [];
  if (family === "ipv4") return parts.map((part) => Number.parseInt(part, 16)).join(".");
  return compressed(parts.map((part) => Number.parseInt(part, 16).toString(16)));
}

/** RFC 5952: the longest run of two or more zero groups, the first of equals. */
function compressed(groups: string[]): string {
  const runs = [
    ...groups
      .map((group) => (group === "0" ? "z" : "x"))
      .join("")
      .matchAll(/z{2,}/g),
  ];
  const longest = runs.reduce(
    (best, run) => (run[0].length > best.length ? { at: run.index, length: run[0].length } : best),
    {
      at: 0,
      length: 0,
    },
  );
  if (longest.length === 0) return groups.join(":");
  return `${groups.slice(0, longest.at).join(":")}::${groups.slice(longest.at + longest.length).join(":")}`;
}

const network = (family: "ipv4" | "ipv6", value: bigint, prefix: number): Cidr => {
  const address = write(value & ~ones(widths[family] - prefix), family);
  return { text: `${address}/${prefix}`, address, prefix, family };
};

/**
 * A range for each number. Many share their first bits, so that lists contain nested and adjacent ranges; /0 and single
 * hosts are common.
 */
export function cidrFrom(number: number): Cidr {
  const dice = createHash("sha256").update(String(number)).digest();
  const [kind = 0, where = 0, length = 0, size = 0] = dice;
  const family = kind % 2 === 0 ? "ipv4" : "ipv6";
  const width = widths[family];
  const bits = BigInt(`0x${dice.subarray(8, 8 + width / 8).toString("hex")}`);
  const base = family === "ipv4" ? 0x0a40_0000n : 0x2001_0db8n << 96n;
  const places = [bits, base | (bits & ones(10)), (bits & ones(3)) << BigInt(width - 3), ones(width) - (bits & 3n)];
  const prefixes = [1 + (size % width), width - (size % 11), width - (size % 11), width, size % 5 === 0 ? 0 : width];
  return network(family, places[where % places.length] ?? bits, prefixes[length % prefixes.length] ?? width);
}

/** An implementation independent of ours. One list for each family: Node lets IPv4 addresses match `::/0`. */
export function otherMatcher(list: readonly Cidr[]): (probe: Probe) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const { address, prefix, family } of list) lists[family].addSubnet(address, prefix, family);
  return ({ address, family }) => lists[family].check(address, family);
}

/** An address for each number: half at and just beyond the edges of the list's own ranges, half anywhere. */
export const probes = (list: readonly Cidr[], numbers: readonly number[]): Probe[] =>
  numbers.map((number, index) => {
    const near = list[Math.abs(number) % Math.max(list.length, 1)];
    const family = index % 2 === 0 ? "ipv4" : "ipv6";
    if (near === undefined || index % 4 > 1) return { address: anywhere(number, family), family };
    const width = widths[near.family];
    const first = numberOf(near.address);
    const last = first | ones(width - near.prefix);
    const edges = [first, last, first - 1n, last + 1n, first + ((last - first) >> 1n)];
    const edge = edges[Math.abs(number >> 8) % edges.length] ?? first;
    return {
      address: write(((edge % (ones(width) + 1n)) + ones(width) + 1n) % (ones(width) + 1n), near.family),
      family: near.family,
    };
  });

function anywhere(number: number, family: "ipv4" | "ipv6"): string {
  const spread = BigInt(number >>> 0) * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835n;
  return write((spread >> 40n) & ones(widths[family]), family);
}

function numberOf(address: string): bigint {
  if (!isIPv6(address)) return address.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  const whole = new SocketAddress({ address, family: "ipv6" }).address;
  const [head = "", tail] = whole.split("::");
  const groups = (text: string | undefined): string[] => (text ? text.split(":") : []);
  const [left, right] = [groups(head), groups(tail)];
  const all =
    tail === undefined ? left : [...left, ...Array<string>(8 - left.length - right.length).fill("0"), ...right];
  return all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}
