import { closeSync, openSync, readFileSync, readSync } from "node:fs";

const PAGE = 4096;
const MOST_PAGES = 4096;

/** All readable and writable memory of a process, in pieces. */
export function* memoryOf(pid: number): Iterable<Buffer> {
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const pages = openSync(`/proc/${pid}/pagemap`, "r");
  try {
    for (const [from, to] of rangesOf(pid)) {
      for (const { at, length } of usedPages(pages, from, to)) yield readAt(memory, at, length);
      // Nothing is found across the end of a range.
      yield Buffer.alloc(64);
    }
  } finally {
    closeSync(memory);
    closeSync(pages);
  }
}

const rangesOf = (pid: number): [from: number, to: number][] =>
  readFileSync(`/proc/${pid}/maps`, "utf8")
    .split("\n")
    .flatMap((line) => {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      return from === undefined || to === undefined ? [] : [[Number.parseInt(from, 16), Number.parseInt(to, 16)]];
    });

/** Programs reserve much more than they use. The highest two bits of a page's entry: in memory, or swapped out. */
function* usedPages(pagemap: number, from: number, to: number): Iterable<{ at: number; length: number }> {
  for (let at = from; at < to; at += MOST_PAGES * PAGE) {
    const count = Math.min(MOST_PAGES, (to - at) / PAGE);
    const entries = readAt(pagemap, (at / PAGE) * 8, count * 8);
    for (let page = 0; page < count; ) {
      const first = page;
      while (page < count && ((entries[page * 8 + 7] ?? 0) & 0xc0) !== 0) page++;
      if (page > first) yield { at: at + first * PAGE, length: (page - first) * PAGE };
      else page++;
    }
  }
}

/** The range may no longer exist. */
function readAt(file: number, position: number, length: number): Buffer {
  const piece = Buffer.alloc(length);
  try {
    return piece.subarray(0, readSync(file, piece, 0, length, position));
  } catch {
    return Buffer.alloc(0);
  }
}
