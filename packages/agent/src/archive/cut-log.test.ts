import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cutLog, endOfLog, type LogState, readLine, startOfLog } from "./cut-log.ts";

const micros = (time: string): string => `${Date.parse(time) * 1000}`;
const head = `DELIMITER /*!*/;
# at 4
#261115 10:16:15 server id 1  end_log_pos 127 CRC32 0x9e521528 \tStart: binlog v 4, server v 9.7.4-2 created 261115
# at 127
#261115 10:16:15 server id 1  end_log_pos 198 CRC32 0xf8b0e947 \tPrevious-GTIDs
# 917633e7-e0dd-11f1-8803-92e62f5d132f:1-27,
# a17633e7-e0dd-11f1-8803-92e62f5d132f:1
`;
const gtidAt = (from: number, to: number, committed: string): string => `# at ${from}
#261115 10:16:15 server id 1  end_log_pos ${to} CRC32 0x6eccc96b \tGTID\tlast_committed=0\tsequence_number=1\trbr_only=yes\toriginal_committed_timestamp=${committed}\timmediate_commit_timestamp=1\ttransaction_length=300
`;
const statement = (from: number, to: number, sql: string): string => `# at ${from}
#380119  3:14:07 server id 1  end_log_pos ${to} CRC32 0xe97b2f00 \tQuery\tthread_id=40
SET TIMESTAMP=2147483647/*!*/;
${sql}
/*!*/;
`;
const first = gtidAt(198, 278, micros("2026-11-14T23:59:59.999Z")) + statement(278, 400, "CREATE TABLE first (a INT)");
const second = gtidAt(400, 480, micros("2026-11-15T00:00:00Z")) + statement(480, 600, "CREATE TABLE second (a INT)");
const midnight = new Date("2026-11-15T00:00:00Z");

/** Feeds the text in pieces, so that headers are split at any byte. */
async function cut(log: string, before?: Date, pieces = 7) {
  const { stream, seen } = cutLog(before);
  const bytes = Buffer.from(log, "latin1");
  const chunks = Array.from({ length: Math.ceil(bytes.length / pieces) }, (_, i) =>
    bytes.subarray(i * pieces, (i + 1) * pieces),
  );
  return { out: (await text(Readable.from(chunks).pipe(stream))).trimEnd(), seen: seen() };
}

test.each([1, 7, 64, 100_000])(
  "only transactions committed before the time pass (in pieces of %i bytes)",
  async (n) => {
    const { out, seen } = await cut(head + first + second, midnight, n);
    expect(out).toContain("CREATE TABLE first");
    expect(out).not.toContain("second");
    expect(out).not.toContain("2026");
    expect(seen).toMatchObject({ cut: true, doubtful: false });
  },
);

test("an uncut log passes unchanged and yields its previous GTIDs", async () => {
  const { out, seen } = await cut(head + first + second);
  expect(out).toBe((head + first + second).trimEnd());
  expect(seen.previousGtids).toBe("917633e7-e0dd-11f1-8803-92e62f5d132f:1-27,a17633e7-e0dd-11f1-8803-92e62f5d132f:1");
});

test("a SET TIMESTAMP by the tenant does not cut the log", async () => {
  const { out, seen } = await cut(head + first, midnight);
  expect(out).toContain("CREATE TABLE first");
  expect(seen.cut).toBe(false);
});

test("a statement that looks like log headers does not cut the log, and a later cut still works", async () => {
  const imitation = gtidAt(9999, 10_000, micros("2038-01-01T00:00:00Z"));
  const log = head + gtidAt(198, 278, micros("2026-11-14T12:00:00Z")) + statement(278, 400, `SELECT '\n${imitation}'`);
  const { out, seen } = await cut(log + second, midnight);
  expect(out).toContain("2145916800000000");
  expect(out).not.toContain("second");
  expect(seen).toMatchObject({ cut: true, doubtful: true });
});

test("a line of any length passes", async () => {
  const long = statement(400, 9000, `CREATE TABLE x (a INT) COMMENT '${"#".repeat(100_000)}'`);
  const { out, seen } = await cut(
    head + first + long + gtidAt(9000, 9080, micros("2026-11-16T00:00:00Z")),
    midnight,
    999,
  );
  expect(out === `${head}${first}${long}# at 9000`).toBe(true);
  expect(seen.cut).toBe(true);
});

test("the GTIDs and the last commit time are read correctly in spite of look-alike statements", async () => {
  const group = "aaaaaaaa-0000-4000-8000-000000000001";
  const named = (gtid: string) => `/*!80014 SET @@session.original_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '${gtid}'/*!*/;
`;
  const late = micros("2026-11-15T00:00:00Z");
  const log =
    head +
    gtidAt(198, 278, late) +
    named(`${group}:7`) +
    statement(278, 400, `SET @@SESSION.GTID_NEXT= '${group}:99'/*!*/;`) +
    gtidAt(400, 480, micros("2026-11-14T23:59:59.999Z")) +
    named(`${group}:8`) +
    statement(480, 600, "CREATE TABLE second (a INT)") +
    gtidAt(600, 700, micros("2026-11-14T23:59:59.998Z")) +
    named(`${group}:audit:3`);
  for (const pieces of [1, 7, 100_000]) {
    const { seen } = await cut(log, undefined, pieces);
    expect(seen.lastCommitted).toBe(BigInt(late));
    expect([...seen.gtids]).toEqual([
      [group, [[7, 8]]],
      [`${group}:audit`, [[3, 3]]],
    ]);
  }
});

const uuid = "aaaaaaaa-0000-4000-8000-000000000001";
const named = (number: number): string => `SET @@SESSION.GTID_NEXT= '${uuid}:${number}'/*!*/;\n`;
const wholeLog = [
  head,
  gtidAt(198, 278, micros("2026-11-14T23:59:58Z")),
  named(1),
  statement(278, 400, `SELECT '\n${gtidAt(9999, 10_000, micros("2038-01-01T00:00:00Z"))}'`),
  gtidAt(400, 480, micros("2026-11-14T23:59:59Z")),
  named(2),
  // One byte shorter than the longest header, as long, and longer.
  statement(480, 600, [4095, 4096, 9000].map((length) => "#".repeat(length)).join("\n")),
  gtidAt(600, 680, micros("2026-11-15T00:00:00Z")),
  named(4),
  statement(680, 800, "CREATE TABLE second (a INT)"),
].join("");

/** Line by line, without a stream: what the log says, and the text before the cut. */
function readWhole(log: string, before: Date | undefined): { state: LogState; passed: string } {
  let state = startOfLog(before);
  const passed: string[] = [];
  for (const line of log.split(/(?<=\n)/)) {
    state = readLine(state, line.replace(/\n$/, "").slice(0, 4096));
    if (state.cut) break;
    passed.push(line);
  }
  return { state: endOfLog(state), passed: passed.join("") };
}

test.each([undefined, midnight])("however the log is split into chunks, the result is the same (cut at %s)", (before) =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: wholeLog.length }), { maxLength: 60 }),
      fc.nat({ max: wholeLog.length }),
      async (borders, length) => {
        const log = wholeLog.slice(0, wholeLog.length - (length % 300));
        const sorted = [0, ...borders.filter((at) => at < log.length), log.length].toSorted((a, b) => a - b);
        const chunks = sorted.slice(1).map((end, i) => Buffer.from(log.slice(sorted[i], end), "latin1"));
        const { stream, seen } = cutLog(before);

        const passed = await text(Readable.from(chunks).pipe(stream));

        const expected = readWhole(log, before);
        expect(passed === expected.passed).toBe(true);
        expect(seen()).toEqual(expected.state);
      },
    ),
  ),
);

test("the whole log of the chunks is read as it was written", () => {
  expect(readWhole(wholeLog, undefined).state).toMatchObject({
    cut: false,
    doubtful: true,
    lastCommitted: BigInt(micros("2026-11-15T00:00:00Z")),
    gtids: new Map([
      [
        uuid,
        [
          [1, 2],
          [4, 4],
        ],
      ],
    ]),
  });
  expect(readWhole(wholeLog, midnight).passed).toMatch(/# at 600\n$/);
});

const known = { ...startOfLog(midnight), ended: 400 };
const gtidHeader = (committed: string): string => gtidAt(400, 480, micros(committed)).split("\n")[1] ?? "";
const lines: [string, Partial<LogState>, string, Partial<LogState>][] = [
  ["a position is remembered", {}, "# at 400", { position: 400 }],
  ["a header without a position is none", {}, gtidHeader("2026-11-16T00:00:00Z"), { cut: false, doubtful: false }],
  ["a header elsewhere is doubtful", { position: 399 }, gtidHeader("2026-11-16T00:00:00Z"), { doubtful: true }],
  ["a later commit cuts", { position: 400 }, gtidHeader("2026-11-15T00:00:00Z"), { cut: true }],
  ["an earlier commit does not", { position: 400 }, gtidHeader("2026-11-14T00:00:00Z"), { cut: false, inGtid: true }],
  ["positions wrap", { position: 400 + 2 ** 32 }, gtidHeader("2026-11-15T00:00:00Z"), { cut: true }],
  ["a GTID counts after its header", { inGtid: true }, named(7), { gtids: new Map([[uuid, [[7, 7]]]]) }],
  ["a GTID elsewhere is text", {}, named(7), { gtids: new Map() }],
  ["a statement ends the Previous-GTIDs", { inPrevious: true }, "BEGIN", { inPrevious: false }],
  ["a statement clears the position", { position: 400 }, "BEGIN", { position: undefined }],
];
test.each(lines)("%s", (_, state, line, expected) => {
  expect(readLine({ ...known, ...state }, line)).toMatchObject(expected);
});
