import { expect, test } from "vitest";
import { contentKey, ownerOfKey, uploadKey } from "./object-names.ts";

test("a key identifies its image and attempt", () => {
  expect(ownerOfKey(uploadKey(12))).toEqual({ imageId: 12, content: undefined });
  expect(ownerOfKey(contentKey(12, "a-try", "chunk-000000"))).toEqual({ imageId: 12, content: "a-try" });
});

test.each([
  "uploads/",
  "uploads/x",
  "uploads/1/a/b",
  "uploads/1/",
  "xuploads/1",
  "images/1",
  "images/1/a",
  "images/1/a/",
  "images/x/a/b",
  "copies/1",
  "",
  "uploads/12345678901234567",
])("%j is not one of our keys", (key) => {
  expect(ownerOfKey(key)).toBeUndefined();
});
