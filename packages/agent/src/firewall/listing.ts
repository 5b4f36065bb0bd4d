import { SocketAddress } from "node:net";
import { z } from "zod";
import { type Opening, type Peering, setOf, sharedLists } from "./ruleset.ts";
import type { Range } from "./sources.ts";

const Element = z.union([z.string(), z.object({ prefix: z.object({ addr: z.string(), len: z.int() }) })]);
const Listing = z.object({ nftables: z.array(z.record(z.string(), z.unknown())) });
const NamedSet = z.object({ name: z.string(), elem: z.array(z.unknown()).default([]) });
const NamedMap = z.object({
  name: z.string(),
  elem: z.array(z.tuple([z.union([z.int(), z.string()]), z.unknown()])).default([]),
});
const Chain = z.looseObject({ name: z.string() });
const Rule = z.looseObject({ chain: z.string() });

/** Name → content in canonical form, so that equal contents are equal texts. */
export type Contents = Map<string, string>;

/**
 * The table as the kernel has it. `lists` (sets and maps) can be derived from the openings; `rules` (chains and the
 * table's own flags) are in nft's notation and are compared with what nft listed after they were written.
 */
export type Table = { lists: Contents; rules: Contents };

export function readListing(json: string): Table {
  const [lists, rules]: [Contents, Contents] = [new Map(), new Map()];
  for (const object of Listing.parse(JSON.parse(json)).nftables) {
    if (object["set"] !== undefined) {
      const { name, elem } = NamedSet.parse(object["set"]);
      lists.set(name, sorted(elem.map(rangeText)));
    } else if (object["map"] !== undefined) {
      const { name, elem } = NamedMap.parse(object["map"]);
      lists.set(name, sorted(elem.map(([key, value]) => `${key} ${valueText(value)}`)));
    } else if (object["rule"] !== undefined) {
      const { handle: _, ...rule } = Rule.parse(object["rule"]);
      rules.set(rule.chain, `${rules.get(rule.chain) ?? ""}\n${JSON.stringify(rule)}`);
    } else if (object["chain"] !== undefined) {
      const { handle: _, ...chain } = Chain.parse(object["chain"]);
      rules.set(chain.name, JSON.stringify(chain) + (rules.get(chain.name) ?? ""));
    } else if (object["metainfo"] === undefined) {
      rules.set(
        Object.keys(object).join(),
        JSON.stringify(object, (key, value: unknown) => (key === "handle" ? undefined : value)),
      );
    }
  }
  return { lists, rules };
}

export function desiredLists(openings: readonly Opening[], peerings: readonly Peering[]): Contents {
  const { ports, calls, ...maps } = sharedLists(openings, peerings);
  const lists: Contents = new Map([
    ["ports", sorted(ports.map(([port, chain]) => `${port} ${valueText({ goto: { target: chain } })}`))],
    ["calls", sorted(calls.map((call) => JSON.stringify({ concat: call })))],
  ]);
  for (const [name, pairs] of Object.entries(maps))
    lists.set(name, sorted(pairs.map(([key, value]) => `${key} ${valueText(value)}`)));
  for (const { port, sources } of openings)
    for (const family of ["v4", "v6"] as const) lists.set(setOf(family, port), sorted(sources[family].map(sourceText)));
  return lists;
}

/** The names of what is missing, unexpected or different. */
export const differences = (found: Contents, desired: Contents): string[] =>
  [...new Set([...found.keys(), ...desired.keys()])].filter((name) => found.get(name) !== desired.get(name));

function sourceText({ text }: Range): string {
  const [address = "", length] = text.split("/");
  return `${spelling(address)}/${length}`;
}

function rangeText(element: unknown): string {
  const read = Element.safeParse(element).data;
  if (read === undefined) return JSON.stringify(element);
  const [address, length] = typeof read === "string" ? [read, undefined] : [read.prefix.addr, read.prefix.len];
  return `${spelling(address)}/${length ?? (address.includes(":") ? 128 : 32)}`;
}

const valueText = (value: unknown): string => (typeof value === "string" ? spelling(value) : JSON.stringify(value));
/** nft prints some IPv6 addresses with a dotted IPv4 ending; this brings all to one notation. */
const spelling = (address: string): string =>
  address.includes(":") ? new SocketAddress({ address, family: "ipv6" }).address : address;
const sorted = (texts: string[]): string => texts.toSorted().join(" ");
