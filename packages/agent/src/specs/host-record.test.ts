import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { countStart, openHostRecord } from "./host-record.ts";

const folder = mkdtempSync(join(tmpdir(), "moorage-host-record-"));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (seconds: number) => () => new Date(seconds * 1000);

test("each start has a higher number, on the disk before it is used, even if the clock was set back", async () => {
  const path = join(folder, "host.json");
  const starts: number[] = [];
  for (const seconds of [1000, 1000, 500, 2000]) {
    starts.push(await countStart(await openHostRecord(path), at(seconds)));
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ start: starts.at(-1) });
  }
  expect(starts).toEqual([1000, 1001, 1002, 2000]);
});

test("the number rises even if the record was lost", async () => {
  const [before, after] = [join(folder, "before.json"), join(folder, "after.json")];
  const first = await countStart(await openHostRecord(before), at(1000));

  expect(await countStart(await openHostRecord(after), at(1060))).toBeGreaterThan(first);
});
