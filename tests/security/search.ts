import { type Form, formsOf } from "./forms.ts";

export type Canary = { kind: string; secret: string };
/** Never the secret itself: this is printed. */
export type Hit = { kind: string; how: string; near: string };

type Needle = { kind: string; how: string; bytes: Buffer };

const NEAR = 60;
/** For how many hits the location is printed: printing it without another secret takes long. */
const MOST_LISTED = 20;
/** Every needle is at least this long; its first bytes are its key. */
const KEY_BYTES = 8;
const KEY_BITS = 26;

/**
 * Searches a stream of bytes for canaries in every form. There are tens of thousands of forms: at each position the
 * next eight bytes are looked up in a table, and only if they begin a form is anything compared.
 */
export const createSearch = (canaries: readonly Canary[]) => prepareSearch(canaries)();

/** For many streams: the table is built once. */
export function prepareSearch(canaries: readonly Canary[], forms: (secret: string) => Form[] = formsOf) {
  const needles = canaries.flatMap(({ kind, secret }) =>
    forms(secret).map(
      ({ how, text, encoding = "utf8" }): Needle => ({ kind, how, bytes: Buffer.from(text, encoding) }),
    ),
  );
  const table = tableOf(needles);
  return () => searchFor(needles, table);
}

function searchFor(needles: readonly Needle[], table: Table) {
  const longest = needles.reduce((most, { bytes }) => Math.max(most, bytes.length), KEY_BYTES);
  const found = new Map<string, Hit>();
  let kept: Buffer = Buffer.alloc(0);
  let read = 0;
  return {
    read(chunk: Buffer): void {
      read += chunk.length;
      const bytes = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
      for (const { needle, at } of matches(bytes, table)) {
        const { kind, how } = needle;
        const before = () => placeOf(bytes.subarray(Math.max(0, at - NEAR), at), needles);
        if (!found.has(`${kind} ${how}`))
          found.set(`${kind} ${how}`, { kind, how, near: found.size < MOST_LISTED ? before() : "" });
      }
      kept = Buffer.from(bytes.subarray(-(longest - 1 + NEAR)));
    },
    hits: (): Hit[] => [...found.values()],
    bytes: (): number => read,
  };
}

type Match = { needle: Needle; at: number };
type Table = { mayStart: Uint8Array; byKey: Map<number, Needle[]> };

function tableOf(needles: readonly Needle[]): Table {
  const table: Table = { mayStart: new Uint8Array(1 << KEY_BITS), byKey: new Map() };
  for (const needle of needles) {
    if (needle.bytes.length < KEY_BYTES) throw new Error(`A form of ${needle.kind} is too short: ${needle.how}.`);
    const key = keyOf(needle.bytes.readInt32LE(0), needle.bytes.readInt32LE(4));
    table.mayStart[key] = 1;
    table.byKey.set(key, [...(table.byKey.get(key) ?? []), needle]);
  }
  return table;
}

const keyOf = (first: number, second: number): number =>
  (Math.imul(first, 0x9e3779b1) ^ Math.imul(second, 0x85ebca77)) >>> (32 - KEY_BITS);

function matches(bytes: Buffer, table: Table): Match[] {
  const found: Match[] = [];
  for (let at = nextKey(bytes, table, 0); at !== -1; at = nextKey(bytes, table, at + 1)) {
    const key = keyOf(bytes.readInt32LE(at), bytes.readInt32LE(at + 4));
    for (const needle of table.byKey.get(key) ?? [])
      if (needle.bytes.equals(bytes.subarray(at, at + needle.bytes.length))) found.push({ needle, at });
  }
  return found;
}

/** The next position where a form may begin. Two windows of four bytes each advance by one byte at a time. */
function nextKey(bytes: Buffer, { mayStart }: Table, from: number): number {
  const last = bytes.length - KEY_BYTES;
  if (from > last) return -1;
  let first = bytes.readInt32LE(from);
  let second = bytes.readInt32LE(from + 4);
  for (let at = from; ; at++) {
    if (mayStart[keyOf(first, second)] === 1) return at;
    if (at === last) return -1;
    first = (first >>> 8) | ((bytes[at + 4] as number) << 24);
    second = (second >>> 8) | ((bytes[at + KEY_BYTES] as number) << 24);
  }
}

/** The text before a hit, so that it can be found again; without any other secret in it. */
function placeOf(before: Buffer, needles: readonly Needle[]): string {
  const text = before.toString("latin1");
  const clean = needles.reduce((rest, { bytes }) => rest.replaceAll(bytes.toString("latin1"), "…"), text);
  return clean.replaceAll(/[^\x20-\x7e]+/g, " ");
}
