import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readKeyRing } from "./config.ts";

const key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

function readRing(ring: object): unknown {
  const folder = mkdtempSync(join(tmpdir(), "moorage-keys-"));
  try {
    writeFileSync(join(folder, "keys.json"), JSON.stringify(ring));
    return readKeyRing({ MOORAGE_KEYS_FILE: join(folder, "keys.json") });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("a key ring without its current key is refused", () => {
  expect(readRing({ current: "k2", keys: { k1: key, k2: key } })).toMatchObject({ current: "k2" });
  expect(() => readRing({ current: "k3", keys: { k1: key, k2: key } })).toThrow("`current` must be the id of one");
});

test("an id that would end inside of a sealed value is refused", () => {
  expect(() => readRing({ current: "2026.1", keys: { "2026.1": key } })).toThrow(/letters, digits/);
});
