import { canonicalSource } from "@moorage/contract";

const EVERYBODY = "0.0.0.0/0";

/**
 * The sources that a list admits, in canonical spelling and order. An entry that no packet can come from admits nobody.
 */
export function sourcesOf(allowList: readonly string[]): string[] {
  const sources = new Set(allowList.map(canonicalSource).filter((source) => source !== undefined));
  // The public interface: this entry admits all addresses of both families.
  if (sources.has(EVERYBODY)) sources.add("::/0");
  return [...sources].toSorted();
}

/** Order, spelling and duplicates make no difference to a host. Stops at the first entry that does. */
export function sameSources(before: readonly string[], after: readonly string[]): boolean {
  if (before.join() === after.join()) return true;
  const known = new Set(sourcesOf(before));
  const isKnown = (source: string | undefined): boolean => source === undefined || known.has(source);
  return after.every((entry) => isKnown(canonicalSource(entry))) && sourcesOf(after).length === known.size;
}
