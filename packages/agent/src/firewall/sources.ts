import ipaddr from "ipaddr.js";

/** `text` is the canonical CIDR; `first` and `last` are its ends in hex, so that they compare as text. */
export type Range = { text: string; first: string; last: string };
export type Family = "v4" | "v6";
/** Sorted, and no range within another, so that the kernel reports no overlap. */
export type Sources = Record<Family, Range[]>;

export class UnreadableSource extends Error {
  override readonly name = "UnreadableSource";
}

export function readSources(texts: readonly string[]): Sources {
  const ranges = texts.map(readRange);
  return {
    v4: outermost(ranges.filter(({ first }) => first.length === 8)),
    v6: outermost(ranges.filter(({ first }) => first.length === 32)),
  };
}

/** Whether the kernel would accept this address with these sources. */
export function admits(sources: Sources, address: string): boolean {
  const parsed = ipaddr.process(address);
  const ranges = sources[parsed.kind() === "ipv4" ? "v4" : "v6"];
  const target = hexOf(parsed);
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ranges[middle]?.first ?? "") <= target) low = middle + 1;
    else high = middle;
  }
  const nearest = ranges[low - 1];
  return nearest !== undefined && target <= nearest.last;
}

/**
 * nft resolves names and parses services and expressions, so only a range in exactly the canonical spelling is passed
 * to it.
 */
function readRange(text: string): Range {
  const [address, prefix] = parse(text);
  const first = hexOf(address);
  const beyond = (1n << BigInt(first.length * 4 - prefix)) - 1n;
  const value = BigInt(`0x${first}`);
  // From the bits alone: an IPv6 address may have a zone, which can be any text.
  const spelling = `${ipaddr.fromByteArray(address.toByteArray()).toString()}/${prefix}`;
  if ((value & beyond) !== 0n || spelling !== text)
    throw new UnreadableSource(`${JSON.stringify(text)} is not the canonical form of an address range.`);
  return { text, first, last: (value | beyond).toString(16).padStart(first.length, "0") };
}

function parse(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  try {
    return text.includes(":") ? ipaddr.IPv6.parseCIDR(text) : ipaddr.IPv4.parseCIDR(text);
  } catch (error) {
    throw new UnreadableSource(`${JSON.stringify(text)} is not an address range.`, { cause: error });
  }
}

const hexOf = (address: ipaddr.IPv4 | ipaddr.IPv6): string => Buffer.from(address.toByteArray()).toString("hex");

/** Two CIDR ranges are disjoint or nested, so after sorting only the last kept one can contain the next. */
function outermost(ranges: Range[]): Range[] {
  const kept: Range[] = [];
  const widestFirst = (a: Range, b: Range): number => compare(a.first, b.first) || compare(b.last, a.last);
  for (const range of ranges.toSorted(widestFirst)) {
    const before = kept.at(-1);
    if (before === undefined || range.first > before.last) kept.push(range);
  }
  return kept;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
