import { canonicalSource } from "@moorage/contract";

const EVERYBODY = "0.0.0.0/0";

/** Whom a list lets in, in one spelling and order. An entry that no packet can come from lets nobody in. */
export function sourcesOf(allowList: readonly string[]): string[] {
  const sources = new Set(allowList.map(canonicalSource).filter((source) => source !== undefined));
  // The interface: with this entry all addresses can reach the database, of both families.
  if (sources.has(EVERYBODY)) sources.add("::/0");
  return [...sources].toSorted();
}

/** Order, spelling and doubled entries make no difference to a host. Ends at the first entry that does. */
export function sameSources(before: readonly string[], after: readonly string[]): boolean {
  if (before.join() === after.join()) return true;
  const known = new Set(sourcesOf(before));
  const isKnown = (source: string | undefined): boolean => source === undefined || known.has(source);
  return after.every((entry) => isKnown(canonicalSource(entry))) && sourcesOf(after).length === known.size;
}
