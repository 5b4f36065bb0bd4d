import { expect, test } from "vitest";
import { uploadsIn } from "./hint-route.ts";

const notification = (...keys: string[]) => ({ Records: keys.map((key) => ({ s3: { object: { key, size: 1 } } })) });

test("of a notification only uploads are looked at, each once", () => {
  expect(uploadsIn(notification("uploads/12", "images/12/a/chunk-000000", "uploads%2F13", "uploads/12"))).toEqual([
    12, 13,
  ]);
});

test.each([[undefined], [null], ["text"], [[]], [{ Records: "x" }], [{ Records: [{}] }], [notification("%E0%A4%A")]])(
  "%j says nothing",
  (body) => {
    expect(uploadsIn(body)).toEqual([]);
  },
);
