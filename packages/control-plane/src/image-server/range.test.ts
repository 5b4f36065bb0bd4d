import { expect, test } from "vitest";
import { readRange } from "./body.ts";

test.each([
  ["bytes=0-", { from: 0, to: 1000 }],
  ["bytes=10-", { from: 10, to: 1000 }],
  ["bytes=10-19", { from: 10, to: 20 }],
  ["bytes=0-0", { from: 0, to: 1 }],
  ["bytes=999-", { from: 999, to: 1000 }],
  ["bytes=990-5000", { from: 990, to: 1000 }],
  ["bytes=-1", { from: 999, to: 1000 }],
  ["bytes=-5000", { from: 0, to: 1000 }],
])("%s of 1000 bytes is a valid range", (header, part) => {
  expect(readRange(header, 1000)).toEqual(part);
});

test.each(["bytes=1000-", "bytes=1000-1001", "bytes=-0"])("%s of 1000 bytes is not satisfiable", (header) => {
  expect(readRange(header, 1000)).toBe("none");
});

test.each([undefined, "", "bytes=", "bytes=-", "bytes=5-3", "bytes=0-1,5-6", "lines=0-1", "bytes=a-b", "bytes=0x1-"])(
  "%s is ignored",
  (header) => {
    expect(readRange(header, 1000)).toBeUndefined();
  },
);
