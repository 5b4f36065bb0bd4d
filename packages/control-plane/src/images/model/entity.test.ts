import { expect, test } from "vitest";
import { readWireId, wireIdOf } from "./entity.ts";

test.each([
  ["private/12", { kind: "private", id: 12 }],
  ["operator/debian-12", { kind: "public", name: "debian-12" }],
])("%s is an image id", (text, named) => expect(readWireId(text)).toEqual(named));

test.each([
  "",
  "12",
  "private",
  "private/",
  "private/0",
  "private/012",
  "private/1e3",
  "private/-1",
  "private/1.0",
  "private/12/",
  "private/12 ",
  "private/99999999999999999999",
  "operator",
  "operator/",
  "PRIVATE/12",
  "other/12",
])("%j is not an image id", (text) => expect(readWireId(text)).toBeUndefined());

test("the id of an image on the wire is parsed back", () => {
  expect(readWireId(wireIdOf({ id: 7, name: null }))).toEqual({ kind: "private", id: 7 });
  expect(readWireId(wireIdOf({ id: 7, name: "x" }))).toEqual({ kind: "public", name: "x" });
});
