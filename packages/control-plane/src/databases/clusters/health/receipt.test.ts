import { expect, test } from "vitest";
import { lostBetween, phasesOf, receiptOf } from "./receipt.ts";

const A = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const at = "2026-01-01T00:00:00Z";

test("the first who missed it, elected another and led there count, and the last gate that followed", () => {
  const told = {
    one: { at, missed: 900, elected: 6000, led: 6300 },
    two: { at, missed: 800, elected: 6100, led: 6250 },
    three: { at, led: 9000 },
  };
  expect(phasesOf(told)).toEqual({ missed: 800, elected: 6000, led: 6250, all_led: 9000 });
  expect(phasesOf({})).toEqual({ missed: null, elected: null, led: null, all_led: null });
});

test.each([
  ["semi_synch", `${A}:1-9`, `${A}:1-5`, 0],
  ["asynch", `${A}:1-9`, `${A}:1-5`, 4],
  ["asynch", `${A}:1-9`, `${A}:1-12`, 0],
  ["asynch", null, `${A}:1-5`, null],
])("%s from %s to %s: %s lost", (replication, gtid_before, gtid_after, lost) => {
  expect(lostBetween(replication, { gtid_before, gtid_after })).toBe(lost);
});

test("a long set is cut, and what is not known is said so", () => {
  const said = receiptOf({
    ...{ from: 0, to: 2, planned: true, told: {}, lost: null },
    ...{ gtid_before: `${A}:${Array.from({ length: 400 }, (_, n) => 2 * n + 1).join(":")}`, gtid_after: null },
  });
  expect(said).toMatch(
    /^Node 2 leads in place of node 0, as was asked for\. Transactions lost: not known\. GTID before: /,
  );
  expect(said.length).toBeLessThan(500);
});
