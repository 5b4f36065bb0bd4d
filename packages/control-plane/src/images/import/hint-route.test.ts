import { expect, test } from "vitest";
import { uploadsIn } from "./hint-route.ts";

const notification = (...keys: string[]) => ({ Records: keys.map((key) => ({ s3: { object: { key, size: 1 } } })) });

test("only the uploads of a notification are checked, each once", () => {
  expect(uploadsIn(notification("uploads/12", "images/12/a/chunk-000000", "uploads%2F13", "uploads/12"))).toEqual([
    12, 13,
  ]);
});

test.each([[undefined], [null], ["text"], [[]], [{ Records: "x" }], [{ Records: [{}] }], [notification("%E0%A4%A")]])(
  "%j names no upload",
  (body) => {
    expect(uploadsIn(body)).toEqual([]);
  },
);
