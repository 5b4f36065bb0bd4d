/** A GTID set as the server prints it: `uuid:1-5:7,uuid:tag:1-3`. By source, each range in order. */
export type GtidSet = ReadonlyMap<string, readonly Range[]>;
type Range = readonly [first: number, last: number];

export function parseGtidSet(text: string): GtidSet {
  const found = new Map<string, Range[]>();
  for (const part of text.replaceAll(/\s/g, "").toLowerCase().split(",")) {
    const [uuid = "", ...rest] = part.split(":");
    let source = uuid;
    for (const item of rest) {
      const [, first, last] = /^(\d+)(?:-(\d+))?$/.exec(item) ?? [];
      // An item that is not a number is a tag, whose transactions are numbered separately.
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

/** How many transactions of `one` are missing in `other`. */
export function countMissing(one: GtidSet, other: GtidSet): number {
  let missing = 0;
  for (const [source, ranges] of one)
    for (const range of ranges) missing += lengthOf(range) - overlap(range, other.get(source) ?? []);
  return missing;
}

/**
 * The transactions of a cluster on one timeline: a group uses its own name as source, with or without a tag; servers of
 * an asynchronous cluster use uuids with the same prefix (`serverUuidOf`).
 */
export const gtidsOfGroup = (set: GtidSet, group: string): GtidSet =>
  new Map([...set].filter(([source]) => source.startsWith(groupPrefix(group))));

/** Long enough to distinguish the timelines of one database. */
const groupPrefix = (group: string): string => group.toLowerCase().slice(0, "xxxxxxxx-xxxx-xxxx-".length);

/**
 * The server uuid, and so the source of its transactions, in an asynchronous cluster. `mark` has 16 hexadecimal digits
 * and changes with each re-clone: a server must never reuse the GTIDs of transactions that were lost.
 */
export const serverUuidOf = (group: string, mark: string): string =>
  `${groupPrefix(group)}${mark.slice(0, 4)}-${mark.slice(4, 16)}`;

/** Sorted, with overlapping and adjacent ranges merged. */
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
