import { expect, test } from "vitest";
import { nextClearing } from "../storage/clear-deleted.ts";
import { isExplained, type KeptImage } from "./explained.ts";

const at = new Date(0);
const image = (change: Partial<KeptImage>): KeptImage => ({
  id: 1,
  region: "r",
  status: "pending_upload",
  content: null,
  deleted_at: null,
  failed_at: null,
  open: false,
  ...change,
});
const available = { status: "available", content: "a" } as const;

test.each<[string, Partial<KeptImage>, { upload: boolean; a: boolean; b: boolean }]>([
  ["waits for its data", {}, { upload: true, a: false, b: false }],
  ["is imported", { open: true }, { upload: true, a: true, b: true }],
  ["failed", { failed_at: at }, { upload: false, a: false, b: false }],
  ["is captured", { status: "creating", open: true }, { upload: false, a: true, b: true }],
  ["is available", available, { upload: false, a: true, b: false }],
  ["is deleted while it is imported", { deleted_at: at, open: true }, { upload: false, a: true, b: true }],
  ["was available and is deleted", { ...available, deleted_at: at }, { upload: false, a: false, b: false }],
  ["was never uploaded and is deleted", { deleted_at: at }, { upload: false, a: false, b: false }],
])("an image that %s needs of upload, try a and try b: %o", (_name, change, needed) => {
  const of = image(change);
  expect({ upload: isExplained(of, undefined), a: isExplained(of, "a"), b: isExplained(of, "b") }).toEqual(needed);
});

test("a deleted image is cleared for good when no object can be written any more", () => {
  const now = new Date(1_000_000_000);
  const hours = (n: number): Date => new Date(now.getTime() + n * 3_600_000);
  expect(nextClearing({ open: false, upload_until: null }, now)).toBeUndefined();
  expect(nextClearing({ open: true, upload_until: null }, now)).toEqual(new Date(now.getTime() + 30_000));
  expect(nextClearing({ open: false, upload_until: hours(3) }, now)).toEqual(hours(9));
  expect(nextClearing({ open: false, upload_until: hours(-6) }, now)).toBeUndefined();
});
