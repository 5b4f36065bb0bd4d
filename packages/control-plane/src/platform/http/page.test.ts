import { expect, test } from "vitest";
import { offsetOf, readPage, toPage } from "./page.ts";

test.each([
  [{}, { page: 1, pageSize: 100 }],
  [{ page: "2" }, { page: 2, pageSize: 100 }],
  [{ page_size: "25" }, { page: 1, pageSize: 25 }],
  [{ page_size: "500" }, { page: 1, pageSize: 500 }],
])("%j is read as %j", (query, page) => {
  expect(readPage(query)).toEqual(page);
});

test.each([
  ["page", "0"],
  ["page", "-1"],
  ["page", "1.5"],
  ["page", ""],
  ["page", "two"],
  ["page", ["1", "2"]],
  ["page", "9999999999999999"],
  ["page_size", "24"],
  ["page_size", "501"],
  ["page_size", "1e2"],
])("%s=%j is refused by its name", (field, value) => {
  expect(() => readPage({ [field]: value })).toThrow(`${field} must be a valid value: a whole number from`);
});

test("the last possible page has an exact offset", () => {
  const page = readPage({ page: String(Math.floor(Number.MAX_SAFE_INTEGER / 500)), page_size: "500" });

  expect(Number.isSafeInteger(offsetOf(page))).toBe(true);
});

test.each([
  { results: 0, pages: 1 },
  { results: 1, pages: 1 },
  { results: 25, pages: 1 },
  { results: 26, pages: 2 },
])("$results results of 25 each are $pages pages", ({ results, pages }) => {
  expect(toPage({ page: 1, pageSize: 25 }, results, []).pages).toBe(pages);
});
