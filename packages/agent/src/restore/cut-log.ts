import { Transform, type TransformCallback } from "node:stream";

/** Longer than any header line of mysqlbinlog; longer lines are a tenant's. */
const longestHeader = 4096;
const newline = 0x0a;
const hash = 0x23;

const wrap = 2 ** 32;
const eventHeader = /^#\d{6} +\d+:\d\d:\d\d server id \d+ +end_log_pos (\d+) /;
const committedAt = /\tGTID\t.*original_committed_timestamp=(\d+)/;
const gtidNext = /^SET @@SESSION\.GTID_NEXT= '([0-9a-f-]{36}(?::[a-z0-9_]+)?):(\d+)'/i;

/**
 * Passes the text of `mysqlbinlog` on, up to the first transaction that was committed at `before` or later. The time is
 * `original_committed_timestamp`, in microseconds: unlike an event's own time it cannot be set by `SET TIMESTAMP`.
 *
 * A statement's text may have lines that look like event headers. A line counts as a header only if the line before it
 * names the position at which the previous event ended.
 */
export function cutLog(before: Date | undefined) {
  const limit = before === undefined ? undefined : BigInt(before.getTime()) * 1000n;
  const seen = {
    cut: false,
    /** The Previous-GTIDs of this log; undefined until read. */
    previousGtids: undefined as string | undefined,
    /** A line looked like a header at an unexpected position: the cut may have been missed. */
    doubtful: false,
    /** The latest commit time in the log, in microseconds. Transactions need not be in the order of their times. */
    lastCommitted: undefined as bigint | undefined,
    gtids: new Map<string, [first: number, last: number][]>(),
  };
  let rest: Buffer = Buffer.alloc(0);
  /** Inside a line that is too long to be a header. */
  let skipping = false;
  let position: number | undefined;
  let ended: number | undefined;
  let inPrevious = false;
  let previous = "";
  /** Between a GTID event's header and the next event there is only text of mysqlbinlog itself. */
  let inGtid = false;

  /** True if the log is to be cut before this line. */
  function read(line: string): boolean {
    const at = /^# at (\d+)$/.exec(line);
    if (at !== null) {
      position = Number(at[1]);
      inGtid = false;
      return false;
    }
    const header = position === undefined ? null : eventHeader.exec(line);
    if (header !== null && isNext(position)) {
      ended = Number(header[1]);
      // Complete when the next event begins: one line for each source.
      if (inPrevious) seen.previousGtids = previous;
      inPrevious = line.endsWith("\tPrevious-GTIDs");
      const [, committed] = committedAt.exec(line) ?? [];
      position = undefined;
      if (committed === undefined) return false;
      if (limit !== undefined && BigInt(committed) >= limit) return true;
      inGtid = true;
      if (seen.lastCommitted === undefined || BigInt(committed) > seen.lastCommitted)
        seen.lastCommitted = BigInt(committed);
      return false;
    }
    if (header !== null) seen.doubtful = true;
    if (inPrevious && line.startsWith("# ")) previous += line.slice(2).replace("[empty]", "").trim();
    else inPrevious = false;
    position = undefined;
    return false;
  }
  function note(line: string): void {
    const [, source, number] = gtidNext.exec(line) ?? [];
    if (source === undefined) return;
    const ranges = seen.gtids.get(source) ?? [];
    const last = ranges.at(-1);
    if (last !== undefined && last[1] + 1 === Number(number)) last[1] = Number(number);
    else seen.gtids.set(source, [...ranges, [Number(number), Number(number)]]);
    inGtid = false;
  }

  // The server counts positions in 32 bits.
  const isNext = (at: number | undefined): boolean =>
    ended === undefined || ended === 0 || (at !== undefined && at % wrap === ended % wrap);

  /** Returns the bytes to pass on; an unfinished line is kept for the next call. */
  function scan(bytes: Buffer, last: boolean): Buffer {
    let start = 0;
    while (start < bytes.length) {
      const end = bytes.indexOf(newline, start);
      const stop = end === -1 ? bytes.length : end;
      if (end === -1 && !last && stop - start < longestHeader && !skipping) break;
      if (!skipping && bytes[start] === hash && stop - start < longestHeader) {
        if (read(bytes.toString("latin1", start, stop))) {
          seen.cut = true;
          return bytes.subarray(0, start);
        }
      } else if (!skipping) {
        if (inGtid) note(bytes.toString("latin1", start, Math.min(stop, start + longestHeader)));
        position = undefined;
        inPrevious = false;
      }
      skipping = end === -1;
      start = end === -1 ? stop : end + 1;
    }
    rest = Buffer.from(bytes.subarray(start));
    return bytes.subarray(0, start);
  }

  const stream = new Transform({
    transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback) {
      // Discarded but still read, so that the whole object's SHA-256 can be compared.
      if (seen.cut) return done();
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      rest = Buffer.alloc(0);
      done(null, scan(bytes, false));
    },
    flush(done: TransformCallback) {
      const last = seen.cut ? undefined : scan(rest, true);
      if (inPrevious) seen.previousGtids = previous;
      done(null, last);
    },
  });
  return { stream, seen };
}
