/** A set of transactions as the server writes it: `uuid:1-5:7,uuid:tag:1-3`. By source, each range in order. */
export type GtidSet = ReadonlyMap<string, readonly Range[]>;
type Range = readonly [first: number, last: number];

export function parseGtidSet(text: string): GtidSet {
  const found = new Map<string, Range[]>();
  for (const part of text.replaceAll(/\s/g, "").toLowerCase().split(",")) {
    const [uuid = "", ...rest] = part.split(":");
    let source = uuid;
    for (const item of rest) {
      const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(item) ?? [];
      // What is no number is a tag, and counts apart.
      if (first === undefined) source = `${uuid}:${item}`;
      else found.set(source, [...(found.get(source) ?? []), [Number(first), Number(last ?? first)]]);
    }
  }
  return new Map([...found].map(([source, ranges]) => [source, joined(ranges)]));
}

export const formatGtidSet = (set: GtidSet): string =>
  [...set]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([source, ranges]) => [source, ...ranges.map(formatRange)].join(":"))
    .join(",");

const formatRange = ([first, last]: Range): string => (first === last ? `${first}` : `${first}-${last}`);

export function uniteGtidSets(...sets: readonly GtidSet[]): GtidSet {
  const all = new Map<string, readonly Range[]>();
  for (const set of sets)
    for (const [source, ranges] of set) all.set(source, joined([...(all.get(source) ?? []), ...ranges]));
  return all;
}

/** How many transactions of the one the other lacks. */
export function countMissing(one: GtidSet, other: GtidSet): number {
  let missing = 0;
  for (const [source, ranges] of one)
    for (const range of ranges) missing += lengthOf(range) - overlap(range, other.get(source) ?? []);
  return missing;
}

/**
 * Those that a cluster gave on one timeline: a group names them by its own name, with or without a tag, and servers that
 * lead in turns by names that begin as it does (`serverUuidOf`).
 */
export const gtidsOfGroup = (set: GtidSet, group: string): GtidSet =>
  new Map([...set].filter(([source]) => source.startsWith(groupPrefix(group))));

/** Long enough to tell the timelines of one database apart. */
const groupPrefix = (group: string): string => group.toLowerCase().slice(0, "xxxxxxxx-xxxx-xxxx-".length);

/**
 * What a server calls itself, and so its transactions, in an asynchronous cluster. `mark` are 16 hexadecimal digits, other
 * ones after each renewal: a server whose transactions were lost must never give their names to others.
 */
export const serverUuidOf = (group: string, mark: string): string =>
  `${groupPrefix(group)}${mark.slice(0, 4)}-${mark.slice(4, 16)}`;

/** In order, without overlap or neighbours. */
function joined(ranges: readonly Range[]): Range[] {
  const all: Range[] = [];
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const before = all.at(-1);
    if (before !== undefined && first <= before[1] + 1) all[all.length - 1] = [before[0], Math.max(before[1], last)];
    else all.push([first, last]);
  }
  return all;
}

const lengthOf = ([first, last]: Range): number => last - first + 1;

const overlap = ([first, last]: Range, ranges: readonly Range[]): number =>
  ranges.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(last, to) - Math.max(first, from) + 1), 0);
