import { type SourceRange, sourceRange } from "@moorage/contract";

type Entry = SourceRange & { entry: string };

const EVERYBODY_4 = "4/0/0";

/**
 * Entries that admit exactly the addresses that both lists admit, spelled as they were sent. Of two ranges one includes
 * the other or they share no address, so each common range is an entry of one of the lists.
 */
export function commonSources(before: readonly string[], after: readonly string[]): string[] {
  const [ours, theirs] = [before.flatMap(rangesOf), after.flatMap(rangesOf)];
  const common = new Map<string, string>();
  for (const range of [...ours.filter(includedIn(theirs)), ...theirs.filter(includedIn(ours))])
    if (!common.has(keyOf(range))) common.set(keyOf(range), range.entry);
  // It stands for all addresses of both families.
  if (common.has(EVERYBODY_4)) common.delete("6/0/0");
  return [...new Set(common.values())];
}

/** An entry that no packet can come from admits nobody. 0.0.0.0/0 admits all addresses of both families. */
function rangesOf(entry: string): Entry[] {
  const range = sourceRange(entry);
  if (range === undefined) return [];
  const asSent = { ...range, entry };
  return keyOf(range) === EVERYBODY_4 ? [asSent, { family: 6, network: 0n, prefix: 0, entry: "::/0" }] : [asSent];
}

const keyOf = ({ family, network, prefix }: SourceRange): string => `${family}/${prefix}/${network}`;

/** One look-up for each length of prefix that occurs: a list has up to 10,000 entries. */
function includedIn(ranges: readonly Entry[]): (range: Entry) => boolean {
  const keys = new Set(ranges.map(keyOf));
  const prefixes = [...new Set(ranges.map(({ prefix }) => prefix))];
  return ({ family, network, prefix: own }) =>
    prefixes.some((prefix) => {
      if (prefix > own) return false;
      const shift = BigInt((family === 4 ? 32 : 128) - prefix);
      return keys.has(keyOf({ family, prefix, network: (network >> shift) << shift }));
    });
}
