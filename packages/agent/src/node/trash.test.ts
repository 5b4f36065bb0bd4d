import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openHostRecord } from "../specs/host-record.ts";
import { purgeTrash } from "./trash.ts";

const folder = mkdtempSync(join(tmpdir(), "moorage-trash-"));
afterAll(() => rmSync(folder, { recursive: true }));
const hour = 3_600_000;
const rules = { keptMs: 72 * hour, perDay: 50 };

test("the age of the trash is on the disk: a restart of the agent makes nothing younger, and only entries are purged", async () => {
  const [trash, path] = [join(folder, "trash"), join(folder, "host.json")];
  const entry = "2026-06-01T12:00:00.000Z-00000000-0000-4000-8000-000000000001";
  for (const name of [entry, "notes"]) mkdirSync(join(trash, name), { recursive: true });
  const start = Date.parse("2026-06-01T12:00:00.000Z");
  const purge = async (hours: number, isHeld = false) =>
    purgeTrash(trash, await openHostRecord(path), { now: new Date(start + hours * hour), isHeld }, rules);

  expect([await purge(0), await purge(50), await purge(60, true), await purge(81)]).toEqual([[], [], [], []]);
  expect(await purge(82)).toEqual([entry]);
  expect(readdirSync(trash)).toEqual(["notes"]);
});
