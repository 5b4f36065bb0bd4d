import { expect, test } from "vitest";
import { ImageChange, NewImage } from "./images.ts";

// An SDK cannot send them in another way.
test("an empty label of a capture is dropped, and an empty description of a change is null", () => {
  expect(NewImage.parse({ disk_id: 1, label: "" })).toEqual({ disk_id: 1, cloud_init: false });
  expect(ImageChange.parse({ description: "" })).toEqual({ description: null });
  expect(ImageChange.safeParse({ label: "" }).success).toBe(false);
});
