import { createHash } from "node:crypto";
import { inTurn } from "@moorage/testkit/turns.ts";
import { expect, test } from "vitest";
import { bombs } from "./testing/bombs.ts";
import { importFile, smallBounds } from "./testing/import-file.ts";
import { malformedDisks } from "./testing/malformed-disks.ts";
import { malformedGzip } from "./testing/malformed-gzip.ts";
import { oddButValid } from "./testing/odd-but-valid.ts";

const malformed = { ...malformedGzip, ...malformedDisks };
const MOST_MEMORY = 150 * 1024 * 1024;

/** Ends what hangs. Some files are several gigabytes. */
const patience = 3_600_000;

test("the corpus has enough files of each kind", () => {
  expect(Object.keys(bombs).length).toBeGreaterThanOrEqual(20);
  expect(Object.keys(malformed).length).toBeGreaterThanOrEqual(30);
  expect(Object.keys(oddButValid).length).toBeGreaterThanOrEqual(10);
});

test.each(inTurn(Object.entries({ ...bombs, ...malformed }), 3))(
  "refused, for its own reason and in little memory: %s",
  async (_name, { file, bounds, reason }) => {
    const { outcome } = await importFile(file(), { ...smallBounds, ...bounds });
    expect(outcome).toMatchObject({ kind: "refused", reason: { text: expect.stringContaining(reason) } });
    expect(outcome.peakBytes ?? 0).toBeLessThan(MOST_MEMORY);
  },
  patience,
);

test.each(inTurn(Object.entries(oddButValid), 3))(
  "accepted, and byte for byte the same when read back: %s",
  async (_name, good) => {
    const { outcome, readBack } = await importFile(good.file(), { ...smallBounds, ...good.bounds });

    expect(outcome).toMatchObject({ kind: "taken" });
    const [upload, raw] = [createHash("sha256"), createHash("sha256")];
    for (const piece of good.file().pieces()) upload.update(piece);
    let bytes = 0;
    for (const piece of good.raw()) bytes += raw.update(piece) && piece.length;
    expect(outcome).toMatchObject({ manifest: { raw_bytes: bytes }, uploadSha256: upload.digest("hex") });
    expect(await readBack()).toBe(raw.digest("hex"));
    expect(outcome.peakBytes ?? 0).toBeLessThan(MOST_MEMORY);
  },
  patience,
);
