import { expect, test } from "vitest";
import { DomainError } from "#platform/errors.ts";
import { readFilter } from "./filter.ts";

const fields = {
  id: "number",
  label: "string",
  status: "string",
  deprecated: "boolean",
  created: "date",
  "entity.id": "string",
} as const;
const read = (filter: unknown) => readFilter(JSON.stringify(filter), fields, { unorderable: ["status"] });
const whereIn = (filter: unknown) => read(filter).where;

const label = (operator: string, value: unknown) => ({ field: "label", kind: "string", operator, value });
const id = (operator: string, value: unknown) => ({ field: "id", kind: "number", operator, value });
const created = (operator: string, value: unknown) => ({ field: "created", kind: "date", operator, value });

test.each([
  [{}, undefined],
  [{ label: "a" }, label("eq", "a")],
  [{ label: null }, label("eq", null)],
  [{ label: { "+neq": null } }, label("neq", null)],
  [{ label: { "+contains": "%" } }, label("contains", "%")],
  [{ label: { "+contains": 5 } }, label("contains", "5")],
  [{ label: "a", id: 1 }, { all: [label("eq", "a"), id("eq", 1)] }],
  [{ id: { "+gt": 1, "+lte": 5 } }, { all: [id("gt", 1), id("lte", 5)] }],
  [{ id: "12" }, id("eq", 12)],
  [{ "entity.id": 12 }, { field: "entity.id", kind: "string", operator: "eq", value: "12" }],
  [{ "entity.id": { "+gt": 12 } }, { field: "entity.id", kind: "string", operator: "gt", value: 12 }],
  [{ deprecated: false }, { field: "deprecated", kind: "boolean", operator: "eq", value: false }],
  [{ "+and": [] }, undefined],
  [{ "+or": [] }, { any: [] }],
  [{ "+or": [{ label: "a" }] }, label("eq", "a")],
  [{ "+or": [{ label: "a" }, {}] }, undefined],
  [
    { "+or": [{ label: "a" }, { id: 1 }], label: "b" },
    { all: [{ any: [label("eq", "a"), id("eq", 1)] }, label("eq", "b")] },
  ],
  [
    { label: { "+or": ["a", { "+gt": "m", "+lt": "n" }] } },
    { any: [label("eq", "a"), { all: [label("gt", "m"), label("lt", "n")] }] },
  ],
  [
    { label: { "+and": [{ "+neq": "a" }, { "+or": ["b", "c"] }] } },
    { all: [label("neq", "a"), { any: [label("eq", "b"), label("eq", "c")] }] },
  ],
])("%j selects the rows that the grammar defines", (filter, where) => {
  expect(whereIn(filter)).toEqual(where);
});

test.each([
  ["2026-01-31T12:00:00", 1_769_860_800],
  ["2026-01-31T12:00:00Z", 1_769_860_800],
  ["2026-01-31T12:00:00.5", 1_769_860_800.5],
  ["2026-01-31T14:00:00+02:00", 1_769_860_800],
  ["2026-01-31", 1_769_817_600],
])("the date %s is read as UTC unless it names a zone", (date, seconds) => {
  expect(whereIn({ created: { "+gte": date } })).toEqual(created("gte", seconds));
});

test.each([
  [{}, undefined],
  [{ "+order_by": "label" }, { field: "label", direction: "asc" }],
  [
    { "+order_by": "id", "+order": "desc" },
    { field: "id", direction: "desc" },
  ],
  // Sent by Terraform; without a key there is nothing to reverse.
  [{ "+and": [], "+order": "desc" }, undefined],
])("%j selects the order that the grammar defines", (filter, order) => {
  expect(read(filter)).toEqual({ where: undefined, order });
});

test.each([undefined, "", "  ", "{}"])("the header %j selects everything", (header) => {
  expect(readFilter(header, fields)).toEqual({ where: undefined, order: undefined });
});

test("of a duplicate key the last one counts", () => {
  expect(readFilter('{"label": "a", "label": "b"}', fields).where).toEqual(label("eq", "b"));
});

test("a label beyond ASCII is read as UTF-8, as Latin-1 and escaped", () => {
  const comparison = label("eq", "café");
  expect(readFilter(Buffer.from('{"label": "café"}').toString("latin1"), fields).where).toEqual(comparison);
  expect(readFilter('{"label": "café"}', fields).where).toEqual(comparison);
  expect(readFilter(String.raw`{"label": "caf\u00e9"}`, fields).where).toEqual(comparison);
});

const nested = (depth: number): unknown => (depth === 1 ? { label: "a" } : { "+and": [nested(depth - 1)] });
const many = (count: number) => ({ id: { "+or": Array.from({ length: count }, (_, n) => n) } });

test("nesting and size are accepted up to their bounds", () => {
  expect(whereIn(nested(19))).toEqual(label("eq", "a"));
  expect(whereIn(many(100))).toMatchObject({ any: { length: 100 } });
  expect(readFilter(`{"label": "a"}${" ".repeat(8178)}`, fields).where).toEqual(label("eq", "a"));
});

test.each([
  ["{", 'The filter must be valid JSON, such as {"label": "orders"}.'],
  ["[]", "The filter must be a JSON object."],
  ["null", "The filter must be a JSON object."],
  ['"label"', "The filter must be a JSON object."],
  [`{"label": "a"}${" ".repeat(8179)}`, "The filter is longer than 8192 bytes."],
  [nested(20), "The filter is nested deeper than 20 levels."],
  [many(101), "The filter has more than 100 comparisons."],
  [{ foo: 1 }, "Cannot filter on foo. Possible: id, label, status, deprecated, created, entity.id."],
  [{ entity: { id: 1 } }, "Cannot filter on entity. "],
  ['{"__proto__": {"label": "a"}}', "Cannot filter on __proto__. "],
  [{ constructor: 1 }, "Cannot filter on constructor. "],
  [{ ["x".repeat(70)]: 1 }, `Cannot filter on ${"x".repeat(60)}…. `],
  [{ "+not": [] }, "Unknown operator +not here. Possible: +and, +or, +order_by, +order."],
  [{ "+gt": 1 }, "Unknown operator +gt here. "],
  [{ label: { "+like": "a" } }, "Unknown operator +like here. Possible: +and, +or, +neq,"],
  [{ label: { constructor: "a" } }, "Unknown operator constructor here. "],
  [{ "+and": {} }, '+and takes a list of conditions: {"+and": [...]}.'],
  [{ label: { "+or": "a" } }, '+or takes a list of conditions: {"+or": [...]}.'],
  [{ "+or": ["a"] }, "+and and +or take a list of filters. Each filter must be a JSON object."],
  [{ "+and": [{ "+order_by": "id" }] }, "+order_by is only allowed in the outermost filter."],
  [{ "+order": "up" }, "+order must be asc or desc."],
  [{ "+order": null }, "+order must be asc or desc."],
  [{ "+order_by": "foo" }, "Cannot order by foo. Possible: id, label, deprecated, created, entity.id."],
  [{ "+order_by": "status" }, "Cannot order by status. "],
  [{ "+order_by": ["id"] }, "+order_by must be the name of a field. "],
  [{ label: {} }, "Could not apply filter on label. The condition has no operator. "],
  [{ label: ["a"] }, 'Could not apply filter on label. Write alternatives as {"+or": [...]}.'],
  [{ label: true }, "Could not apply filter on label. Compare it with a string or a number."],
  [{ label: "a\0" }, "Could not apply filter on label. "],
  [{ label: "\ud800" }, "Could not apply filter on label. "],
  [{ label: { "+gt": null } }, "Could not apply filter on label. +gt does not apply to null."],
  [{ label: { "+contains": { "+neq": "a" } } }, "Could not apply filter on label. "],
  [{ id: "one" }, "Could not apply filter on id. Compare it with a number."],
  [{ id: "9".repeat(400) }, "Could not apply filter on id. "],
  ['{"id": 1e999}', "Could not apply filter on id. "],
  ['{"label": 1e999}', "Could not apply filter on label. "],
  [{ id: { "+contains": "1" } }, "Could not apply filter on id. +contains does not apply to this field."],
  [{ deprecated: "true" }, "Could not apply filter on deprecated. Compare it with true or false."],
  [{ deprecated: { "+gt": false } }, "Could not apply filter on deprecated. "],
  [{ created: 1_769_860_800 }, "Could not apply filter on created. Compare it with a date such as"],
  [{ created: "2026-02-30T00:00:00" }, "Could not apply filter on created. "],
  [{ created: "yesterday" }, "Could not apply filter on created. "],
])("%j is refused with a reason", (filter, reason) => {
  const header = typeof filter === "string" ? filter : JSON.stringify(filter);
  const refused = refusalOf(() => readFilter(header, fields, { unorderable: ["status"] }));
  expect(refused).toMatchObject({ kind: "invalid", errors: [{ field: "X-Filter" }] });
  expect(refused.errors[0]?.reason.text.startsWith(reason)).toBe(true);
});

test("a filter on a list without filterable fields is refused", () => {
  expect(refusalOf(() => readFilter('{"a": 1}', {})).message).toBe("Cannot filter on a. This list takes no filter.");
});

function refusalOf(attempt: () => unknown): DomainError {
  try {
    attempt();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error("It was accepted.");
}
