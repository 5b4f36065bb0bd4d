import { defineTexts, text } from "@moorage/contract/texts";

type OfField = { field: string };

const possible = (verb: string, fields: readonly string[]): string =>
  fields.length === 0 ? `This list takes no ${verb}.` : `Possible: ${fields.join(", ")}.`;

const notApplied = (field: string, why: string): string => `Could not apply filter on ${field}. ${why}`;

/** Reasons for the field X-Filter. The grammar is in docs/filtering.md. */
export const texts = defineTexts("filter", {
  tooLong: text(({ bytes }: { bytes: number }) => `The filter is longer than ${bytes} bytes.`, { bytes: 8192 }),
  notJson: text(() => 'The filter must be valid JSON, such as {"label": "orders"}.'),
  notAnObject: text(() => "The filter must be a JSON object."),
  tooDeep: text(({ levels }: { levels: number }) => `The filter is nested deeper than ${levels} levels.`, {
    levels: 20,
  }),
  tooManyComparisons: text(({ most }: { most: number }) => `The filter has more than ${most} comparisons.`, {
    most: 100,
  }),
  notFilterable: text(
    ({ field, filterable }: OfField & { filterable: readonly string[] }) =>
      `Cannot filter on ${field}. ${possible("filter", filterable)}`,
    { field: "colour", filterable: ["id", "label"] },
  ),
  notOrderable: text(
    ({ field, orderable }: OfField & { orderable: readonly string[] }) =>
      `Cannot order by ${field}. ${possible("order", orderable)}`,
    { field: "colour", orderable: ["id", "label"] },
  ),
  orderByNotAName: text(
    ({ orderable }: { orderable: readonly string[] }) =>
      `+order_by must be the name of a field. ${possible("order", orderable)}`,
    { orderable: ["id", "label"] },
  ),
  orderInvalid: text(() => "+order must be asc or desc."),
  orderNotOutermost: text(({ key }: { key: string }) => `${key} is only allowed in the outermost filter.`, {
    key: "+order_by",
  }),
  notAList: text(({ key }: { key: string }) => `${key} takes a list of conditions: {"${key}": [...]}.`, { key: "+or" }),
  itemNotAnObject: text(() => "+and and +or take a list of filters. Each filter must be a JSON object."),
  unknownOperator: text(
    ({ operator, known }: { operator: string; known: readonly string[] }) =>
      `Unknown operator ${operator} here. Possible: ${known.join(", ")}.`,
    { operator: "+like", known: ["+and", "+or", "+neq", "+contains"] },
  ),
  noOperator: text(
    ({ field }: OfField) => notApplied(field, 'The condition has no operator. Write it as {"+neq": ...}.'),
    { field: "label" },
  ),
  operatorNotForField: text(
    ({ field, operator }: OfField & { operator: string }) =>
      notApplied(field, `+${operator} does not apply to this field.`),
    { field: "id", operator: "contains" },
  ),
  operatorNotForNull: text(
    ({ field, operator }: OfField & { operator: string }) => notApplied(field, `+${operator} does not apply to null.`),
    { field: "label", operator: "gt" },
  ),
  valueIsAList: text(({ field }: OfField) => notApplied(field, 'Write alternatives as {"+or": [...]}.'), {
    field: "label",
  }),
  valueOfOtherKind: text(
    ({ field, expected }: OfField & { expected: string }) => notApplied(field, `Compare it with ${expected}.`),
    { field: "id", expected: "a number" },
  ),
});
