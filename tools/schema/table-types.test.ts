import { expect, test } from "vitest";
import { type Column, readNarrowed, tableTypes } from "./table-types.ts";

const column = (given: Partial<Column>): Column => ({
  table: "ships",
  name: "name",
  type: "text",
  nullable: false,
  default: null,
  checks: [],
  ...given,
});

const narrowed = readNarrowed(`export type ColumnTypes = {
  "ships.cargo": Cargo[];
  "ships.flag": Flag;
  "ships.picture": ColumnType<Buffer<ArrayBuffer>, Buffer, never>;
};`);
const cargo = { name: "cargo", type: "jsonb" };
const all = [column(cargo), column({ name: "flag" }), column({ name: "picture", type: "bytea" })];

const check = "CHECK ((name = ANY (ARRAY['a'::text, 'it''s'::text])))";

test.each<[string, Partial<Column>, string]>([
  ["a required column", {}, "string"],
  ["a nullable column", { nullable: true }, "string | null"],
  ["a default", { type: "integer", default: "0" }, "Generated<number>"],
  ["a nullable default", { type: "boolean", nullable: true, default: "true" }, "boolean | null"],
  ["a number of a sequence", { type: "bigint", default: "next_id('ships_seq'::regclass)" }, "Id"],
  ["a list of allowed values", { checks: ["CHECK ((name <> ''::text))", check] }, `"a" | "it's"`],
  ["one allowed value, with a default", { checks: ["CHECK ((name = 'a'::text))"], default: "'a'" }, `Generated<"a">`],
  ["allowed numbers", { type: "integer", checks: ["CHECK ((name = ANY (ARRAY[1, 3])))"] }, "number"],
  ["another column's values", { checks: ["CHECK ((names = 'a'::text))"] }, "string"],
])("the type of %s", (_title, given, expected) => {
  expect(tableTypes([column(given), ...all], narrowed)).toContain(`  ships: {\n    name: ${expected};`);
});

test("narrowed types keep null and defaults of the schema, except whole ones", () => {
  const picture = column({ name: "picture", type: "bytea", nullable: true });
  const flag = column({ name: "flag", nullable: true });
  const text = tableTypes([column({ ...cargo, default: "'[]'::jsonb" }), flag, picture], narrowed);
  expect(text).toContain(`cargo: DefaultedJson<ColumnTypes["ships.cargo"]>;`);
  expect(text).toContain(`flag: ColumnTypes["ships.flag"] | null;`);
  expect(text).toContain(`picture: ColumnTypes["ships.picture"];`);
});

test("JSON without a type is refused", () => {
  expect(() => tableTypes([...all, column({ name: "log", type: "jsonb" })], narrowed)).toThrow("ships.log");
});

test("a type of the schema that has no counterpart is refused", () => {
  expect(() => tableTypes([...all, column({ type: "money" })], narrowed)).toThrow("money of ships.name");
});

test("a narrowed column that the schema does not have is refused", () => {
  expect(() => tableTypes(all.slice(1), narrowed)).toThrow("no column: ships.cargo");
});
