/**
 * Compares the rating of random histories with counting their hours one by one, and checks the sums of each invoice.
 */
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { rate } from "./rate.ts";
import { faultsOfInvoice } from "./testing/faults-of-invoice.ts";
import { history } from "./testing/random-histories.ts";

/** The long form has 10,000: set MOORAGE_TRIALS for it. */
const HISTORIES = Number(process.env["MOORAGE_TRIALS"] ?? 2000);

/** The first history with faults, if any, reduced as far as possible. */
const checkHistories = (rating: typeof rate, numRuns: number) =>
  fc.check(
    fc.property(history, (input) => {
      expect(faultsOfInvoice(input, rating(input))).toEqual([]);
    }),
    { numRuns },
  );

test(`${HISTORIES} histories match counting hour by hour: no hour twice or missed, caps kept, sums agree`, () => {
  const found = checkHistories(rate, HISTORIES);

  expect(fc.defaultReportMessage(found)).toBeUndefined();
  expect(found.numRuns).toBe(HISTORIES);
});

test("rating a history again gives the same bytes, in whatever order its facts are read", () => {
  fc.assert(
    fc.property(history, fc.func(fc.integer()), (input, order) => {
      const shuffled = { ...input, facts: input.facts.toSorted((a, b) => order(a) - order(b)) };
      expect(JSON.stringify(rate(shuffled))).toBe(JSON.stringify(rate(input)));
    }),
    { numRuns: 500 },
  );
});

/** The rating with a mistake in one line. */
async function withMistake(file: string, line: string, mistake: string) {
  const folder = await mkdtemp(join(tmpdir(), "moorage-rate-"));
  await cp(import.meta.dirname, folder, { recursive: true, filter: (path) => !path.endsWith(".test.ts") });
  const text = await readFile(join(folder, file), "utf8");
  expect(text.split(line), `${file} has this once`).toHaveLength(2);
  await writeFile(join(folder, file), text.replace(line, mistake));
  const { rate: rating } = (await import(pathToFileURL(join(folder, "rate.ts")).href)) as { rate: typeof rate };
  return { rating, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) };
}

test.each([
  ["half a cent goes down", "rate.ts", "const HALF_CENT = 5_000;", "const HALF_CENT = 4_999;"],
  ["a tax is cut, not rounded", "rate.ts", "* ppm + MILLION / 2;", "* ppm;"],
  ["the month is capped by line only", "rate.ts", "Math.min(amountOf(stretch), left)", "amountOf(stretch)"],
  ["a cap is rounded up", "rate.ts", "=> wholeCents(monthlyMicros)", "=> roundToCents(monthlyMicros)"],
  ["an end at a full hour begins it", "rate-hours.ts", "Math.ceil(end / HOUR_MS)", "Math.floor(end / HOUR_MS) + 1"],
  ["a shared hour is counted twice", "rate-hours.ts", "const shared = last.to - next.from;", "const shared = 0;"],
  ["a shared hour is the later one's", "rate-hours.ts", "next.hourlyMicros <= last.hourlyMicros", "false"],
  ["credit is given again", "rate.ts", "credit.credit_micros - credit.used_micros", "credit.credit_micros"],
])("a planted mistake is found: %s", async (_what, file, line, mistake) => {
  await using planted = await withMistake(file, line, mistake);

  expect(checkHistories(planted.rating, HISTORIES).failed).toBe(true);
});
