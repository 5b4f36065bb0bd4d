import { Transform, type TransformCallback } from "node:stream";
import type { GtidSet } from "@moorage/contract/agent";

/** Longer than any header line of mysqlbinlog; longer lines are a tenant's. */
const longestHeader = 4096;
const newline = 0x0a;
const hash = 0x23;

const wrap = 2 ** 32;
const positionLine = /^# at (\d+)$/;
const eventHeader = /^#\d{6} +\d+:\d\d:\d\d server id \d+ +end_log_pos (\d+) /;
const committedAt = /\tGTID\t.*original_committed_timestamp=(\d+)/;
const gtidNext = /^SET @@SESSION\.GTID_NEXT= '([0-9a-f-]{36}(?::[a-z0-9_]+)?):(\d+)'/i;

/** What is known of a log after some of its lines. */
export type LogState = {
  /** In microseconds: the log is cut before the first transaction that was committed then or later. */
  readonly limit: bigint | undefined;
  readonly cut: boolean;
  /** The Previous-GTIDs of this log; undefined until read. */
  readonly previousGtids: string | undefined;
  /** A line looked like a header at an unexpected position: the cut may have been missed. */
  readonly doubtful: boolean;
  /** The latest commit time in the log, in microseconds. Transactions need not be in the order of their times. */
  readonly lastCommitted: bigint | undefined;
  readonly gtids: GtidSet;
  /** The position that the line before named, and the one at which the last event ended. */
  readonly position: number | undefined;
  readonly ended: number | undefined;
  /** The lines of a Previous-GTIDs event, one for each source, while they are being read. */
  readonly inPrevious: boolean;
  readonly previous: string;
  /** Between a GTID event's header and the next event there is only text of mysqlbinlog itself. */
  readonly inGtid: boolean;
};

export const startOfLog = (before: Date | undefined): LogState => ({
  limit: before === undefined ? undefined : BigInt(before.getTime()) * 1000n,
  cut: false,
  previousGtids: undefined,
  doubtful: false,
  lastCommitted: undefined,
  gtids: new Map(),
  position: undefined,
  ended: undefined,
  inPrevious: false,
  previous: "",
  inGtid: false,
});

/**
 * Reads one line of `mysqlbinlog`, or the beginning of one that is too long for a header. If the state is then `cut`,
 * the line is the first that does not belong to the log any more.
 *
 * A statement's text may have lines that look like event headers. A line counts as a header only if the line before it
 * names the position at which the previous event ended.
 */
export function readLine(state: LogState, line: string): LogState {
  if (!line.startsWith("#") || line.length >= longestHeader) return readStatement(state, line);
  const [, at] = positionLine.exec(line) ?? [];
  if (at !== undefined) return { ...state, position: Number(at), inGtid: false };
  const [, end] = (state.position !== undefined && eventHeader.exec(line)) || [];
  if (end !== undefined && isNext(state)) return readHeader(state, line, Number(end));
  return { ...readComment(state, line), doubtful: state.doubtful || end !== undefined, position: undefined };
}

/** At the end of the log: its last event is complete. */
export const endOfLog = (state: LogState): LogState =>
  state.inPrevious ? { ...state, previousGtids: state.previous } : state;

// The server counts positions in 32 bits.
const isNext = ({ ended, position }: LogState): boolean =>
  ended === undefined || ended === 0 || (position !== undefined && position % wrap === ended % wrap);

function readHeader(before: LogState, line: string, ended: number): LogState {
  // The Previous-GTIDs are complete when the next event begins.
  const state: LogState = {
    ...endOfLog(before),
    ended,
    position: undefined,
    inPrevious: line.endsWith("\tPrevious-GTIDs"),
  };
  const [, time] = committedAt.exec(line) ?? [];
  if (time === undefined) return state;
  const committed = BigInt(time);
  if (state.limit !== undefined && committed >= state.limit) return { ...state, cut: true };
  const isLatest = state.lastCommitted === undefined || committed > state.lastCommitted;
  return { ...state, inGtid: true, lastCommitted: isLatest ? committed : state.lastCommitted };
}

const readComment = (state: LogState, line: string): LogState =>
  state.inPrevious && line.startsWith("# ")
    ? { ...state, previous: state.previous + line.slice(2).replace("[empty]", "").trim() }
    : { ...state, inPrevious: false };

function readStatement(state: LogState, line: string): LogState {
  // Most lines of a log: nothing of the state changes.
  if (state.position === undefined && !state.inPrevious && !state.inGtid) return state;
  const [, source, number] = (state.inGtid && gtidNext.exec(line)) || [];
  const after = { ...state, position: undefined, inPrevious: false };
  if (source === undefined) return after;
  return { ...after, inGtid: false, gtids: withGtid(state.gtids, source, Number(number)) };
}

function withGtid(gtids: GtidSet, source: string, number: number): GtidSet {
  const ranges = gtids.get(source) ?? [];
  const [first, last] = ranges.at(-1) ?? [];
  const extended: readonly (readonly [number, number])[] =
    first !== undefined && last === number - 1
      ? [...ranges.slice(0, -1), [first, number]]
      : [...ranges, [number, number]];
  return new Map(gtids).set(source, extended);
}

/**
 * Passes the text of `mysqlbinlog` on, up to the first transaction that was committed at `before` or later. The time is
 * `original_committed_timestamp`, in microseconds: unlike an event's own time it cannot be set by `SET TIMESTAMP`.
 */
export function cutLog(before: Date | undefined) {
  let state = startOfLog(before);
  /** An unfinished line that may still be a header. */
  let rest: Buffer = Buffer.alloc(0);
  /** The beginning of the current line was read, and the line is too long to be a header. */
  let skipping = false;

  // Decoded only if it matters, for a log is mostly rows.
  const textOf = (bytes: Buffer, start: number, stop: number): string =>
    bytes[start] === hash || state.inGtid ? bytes.toString("latin1", start, Math.min(stop, start + longestHeader)) : "";

  /** Returns the bytes to pass on. */
  function scan(bytes: Buffer, isLast: boolean): Buffer {
    let start = 0;
    while (start < bytes.length) {
      const end = bytes.indexOf(newline, start);
      const stop = end === -1 ? bytes.length : end;
      if (!skipping) {
        if (end === -1 && !isLast && stop - start < longestHeader) break;
        state = readLine(state, textOf(bytes, start, stop));
        if (state.cut) return bytes.subarray(0, start);
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
      if (state.cut) return done();
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      rest = Buffer.alloc(0);
      done(null, scan(bytes, false));
    },
    flush(done: TransformCallback) {
      const last = state.cut ? undefined : scan(rest, true);
      state = endOfLog(state);
      done(null, last);
    },
  });
  return { stream, seen: (): LogState => state };
}
