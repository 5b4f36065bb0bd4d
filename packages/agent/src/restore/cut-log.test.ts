import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { cutLog } from "./cut-log.ts";

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
  return { out: (await text(Readable.from(chunks).pipe(stream))).trimEnd(), seen };
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
