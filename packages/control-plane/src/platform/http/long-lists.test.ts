import { expect, test } from "vitest";
import { z } from "zod";
import { faultsOfLongLists } from "./long-lists.ts";

const schema = z.object({
  sources: z.array(z.ipv4("an address")).max(500, "at most 500 entries").default([]),
  inner: z.object({ ids: z.array(z.int("a number")) }).optional(),
});
const of = (length: number, value: unknown) => Array.from({ length }, () => value);
const faultsOf = (input: object) =>
  faultsOfLongLists(schema, input).faults.map(({ path, message }) => [path.join("."), message]);

test("a list with faults in every entry is checked as far as the first twenty", () => {
  expect(faultsOf({ sources: of(400, "x") })).toEqual(
    Array.from({ length: 20 }, (_, place) => [`sources.${place}`, "an address"]),
  );
});

test("a list that is too long has that as its only fault", () => {
  expect(faultsOf({ sources: of(501, "x") })).toEqual([["sources", "at most 500 entries"]]);
});

test("a list inside of an object is checked too", () => {
  expect(faultsOf({ inner: { ids: [...of(100, 1), "x"] } })).toEqual([["inner.ids.100", "a number"]]);
});

test("only a list with faults is left out of what remains to be checked", () => {
  const input = { sources: of(30, "x"), inner: { ids: of(30, 1) }, unknown: of(30, "x") };

  expect(faultsOfLongLists(schema, input).rest).toEqual({ ...input, sources: [] });
});

test("short lists are left to the schema", () => {
  expect(faultsOf({ sources: of(20, "x") })).toEqual([]);
});
