/** By server uuid, the number of its transactions. A server numbers and sends them in order, so a set has no gaps. */
export type Transactions = Map<string, number>;

export const textOf = (all: Transactions): string =>
  [...all]
    .filter(([, last]) => last > 0)
    .map(([uuid, last]) => `${uuid}:1-${last}`)
    .toSorted()
    .join(",");

/** What `textOf` has written. */
export function fromText(text: string): Transactions {
  const all: Transactions = new Map();
  for (const part of text.split(",")) {
    const [uuid, range] = part.split(":");
    if (uuid !== undefined && range !== undefined) all.set(uuid, Number(range.split("-").at(-1)));
  }
  return all;
}

/** Those of `one` that `other` lacks, as a GTID set. */
export const missingIn = (one: Transactions, other: Transactions): string =>
  [...one]
    .filter(([uuid, last]) => last > (other.get(uuid) ?? 0))
    .map(([uuid, last]) => `${uuid}:${(other.get(uuid) ?? 0) + 1}-${last}`)
    .toSorted()
    .join(",");

export const countMissing = (one: Transactions, other: Transactions): number =>
  [...one].reduce((sum, [uuid, last]) => sum + Math.max(0, last - (other.get(uuid) ?? 0)), 0);

export const contains = (all: Transactions, part: Transactions): boolean =>
  [...part].every(([uuid, last]) => (all.get(uuid) ?? 0) >= last);

export function union(one: Transactions, other: Transactions): Transactions {
  const all = new Map(one);
  for (const [uuid, last] of other) all.set(uuid, Math.max(last, all.get(uuid) ?? 0));
  return all;
}
