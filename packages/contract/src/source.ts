import ipaddr from "ipaddr.js";
import { z } from "zod";

const SPELLING = "an IPv4 or IPv6 address, or a CIDR range";

/** Zod checks the spelling strictly: other parsers accept `010.1` as an address too, each with its own meaning. */
const Spelling = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: ({ input }) => (typeof input === "string" ? `${SPELLING}, not ${shown(input)}` : SPELLING),
});

const LONGEST_SHOWN = 64;

/** Quotes the value, and adds why a range with a valid address is invalid. */
function shown(text: string): string {
  const [, address = "", prefix] = /^(.*)\/(\d+)$/.exec(text) ?? [];
  const most = z.ipv4().safeParse(address).success ? 32 : z.ipv6().safeParse(address).success ? 128 : undefined;
  const why = most === undefined || Number(prefix) <= most ? "" : `: its prefix is at most ${most}`;
  return `${JSON.stringify(text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text)}${why}`;
}

/** One address or a CIDR range, IPv4 or IPv6. Bits beyond the prefix are refused: one address may have been meant. */
export const Source = Spelling.superRefine((text, context) => {
  const { isMapped, isNetwork, network } = read(text);
  const refuse = (message: string): void => context.addIssue({ code: "custom", message });
  if (isMapped) refuse("an IPv4 address as such, not inside of an IPv6 one");
  else if (!isNetwork) refuse(`${network()}, or a range without bits beyond its prefix`);
});

/** The canonical spelling of a source, with its prefix and without bits beyond it; undefined if no packet has it. */
export function canonicalSource(text: string): string | undefined {
  if (!Spelling.safeParse(text).success) return undefined;
  const { isMapped, network } = read(text);
  return isMapped ? undefined : network();
}

/** The addresses of a source as numbers. Two ranges of one family include each other or have no address in common. */
export type SourceRange = { family: 4 | 6; network: bigint; prefix: number };

/** Undefined if no packet has this source. */
export function sourceRange(text: string): SourceRange | undefined {
  const source = canonicalSource(text);
  if (source === undefined) return undefined;
  const [address, prefix] = ipaddr.parseCIDR(source);
  const digits = address.toByteArray().map((byte) => byte.toString(16).padStart(2, "0"));
  return { family: address.kind() === "ipv4" ? 4 : 6, network: BigInt(`0x${digits.join("")}`), prefix };
}

/** Texts are created lazily: a list has up to 10,000 entries, checked while other requests wait. */
function read(text: string): { isMapped: boolean; isNetwork: boolean; network: () => string } {
  const six = text.includes(":");
  const family = six ? ipaddr.IPv6 : ipaddr.IPv4;
  const [address, prefix] = family.parseCIDR(text.includes("/") ? text : `${text}/${six ? 128 : 32}`);
  const mask = family.subnetMaskFromPrefixLength(prefix).toByteArray();
  const bytes = address.toByteArray();
  const masked = bytes.map((byte, at) => byte & (mask[at] as number));
  return {
    isMapped: six && (text.includes(".") || (address as ipaddr.IPv6).isIPv4MappedAddress()),
    isNetwork: masked.every((byte, at) => byte === bytes[at]),
    network: () => `${ipaddr.fromByteArray(masked).toString()}/${prefix}`,
  };
}
