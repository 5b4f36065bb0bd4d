import type { FilterKind } from "@moorage/contract";
import { allOf, anyOf, type Condition, type Filter, type Operator } from "./condition.ts";
import { readComparison, refuse, shown } from "./read-comparison.ts";
import { texts } from "./texts.ts";

type Fields = Readonly<Record<string, FilterKind>>;
type Json = Readonly<Record<string, unknown>>;
/** By field: other names of its values. */
type Aliases = Readonly<Record<string, Readonly<Record<string, string>>>>;
type Reading = { readonly fields: Fields; readonly aliases: Aliases; comparisons: number };

const MAX_BYTES = 8192;
const MAX_DEPTH = 20;
const MAX_COMPARISONS = 100;

const operators: Readonly<Record<string, Operator>> = {
  "+neq": "neq",
  "+gt": "gt",
  "+gte": "gte",
  "+lt": "lt",
  "+lte": "lte",
  "+contains": "contains",
};

/**
 * The grammar is in docs/filtering.md. Field names are looked up, never inserted: a caller's text is only ever a value.
 */
export function readFilter(
  header: string | undefined,
  fields: Fields,
  {
    unorderable = [],
    aliases = {},
  }: { unorderable?: readonly string[] | undefined; aliases?: Aliases | undefined } = {},
): Filter {
  if (header === undefined || header.trim() === "") return { where: undefined, order: undefined };
  const { "+order_by": orderBy, "+order": direction = "asc", ...asked } = parse(header);
  if (direction !== "asc" && direction !== "desc") throw refuse(texts.orderInvalid());
  const where = readObject({ fields, aliases, comparisons: 0 }, asked, 1);
  if (orderBy === undefined) return { where, order: undefined };
  const orderable = Object.keys(fields).filter((field) => !unorderable.includes(field));
  if (typeof orderBy !== "string") throw refuse(texts.orderByNotAName({ orderable }));
  if (!orderable.includes(orderBy)) throw refuse(texts.notOrderable({ field: shown(orderBy), orderable }));
  return { where, order: { field: orderBy, direction } };
}

function parse(header: string): Json {
  if (header.length > MAX_BYTES) throw refuse(texts.tooLong({ bytes: MAX_BYTES }));
  let value: unknown;
  try {
    value = JSON.parse(decode(header));
  } catch {
    throw refuse(texts.notJson());
  }
  if (!isObject(value)) throw refuse(texts.notAnObject());
  return value;
}

/** Node decodes header bytes as Latin-1; most clients send UTF-8. */
function decode(header: string): string {
  const bytes = Buffer.from(header, "latin1");
  // Not from the network: already text.
  if (bytes.toString("latin1") !== header) return header;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return header;
  }
}

/** `{"label": …, "+or": […]}`: all of its keys must hold. */
function readObject(reading: Reading, object: unknown, depth: number): Condition | undefined {
  requireDepth(depth);
  if (!isObject(object)) throw refuse(texts.itemNotAnObject());
  return allOf(
    Object.entries(object).map(([key, value]) => {
      if (key === "+and" || key === "+or") {
        return combine(key, value, (each) => readObject(reading, each, depth + 1));
      }
      const { fields } = reading;
      if (Object.hasOwn(fields, key)) return readField(reading, key, value, depth + 1);
      if (!key.startsWith("+"))
        throw refuse(texts.notFilterable({ field: shown(key), filterable: Object.keys(fields) }));
      if (key === "+order_by" || key === "+order") throw refuse(texts.orderNotOutermost({ key }));
      throw unknownOperator(key, ["+and", "+or", "+order_by", "+order"]);
    }),
  );
}

/** The condition of one field: a value, or `{"+gt": …, "+or": […]}`, of which all keys must hold. */
function readField(reading: Reading, field: string, condition: unknown, depth: number): Condition | undefined {
  requireDepth(depth);
  const compare = (operator: Operator, value: unknown): Condition => {
    if (++reading.comparisons > MAX_COMPARISONS) throw refuse(texts.tooManyComparisons({ most: MAX_COMPARISONS }));
    return readComparison(field, reading.fields[field] as FilterKind, operator, named(reading.aliases[field], value));
  };
  if (!isObject(condition)) return compare("eq", condition);
  const entries = Object.entries(condition);
  if (entries.length === 0) throw refuse(texts.noOperator({ field: shown(field) }));
  return allOf(
    entries.map(([key, value]) => {
      if (key === "+and" || key === "+or") {
        return combine(key, value, (each) => readField(reading, field, each, depth + 1));
      }
      if (!Object.hasOwn(operators, key)) throw unknownOperator(key, ["+and", "+or", ...Object.keys(operators)]);
      return compare(operators[key] as Operator, value);
    }),
  );
}

const named = (aliases: Aliases[string] = {}, value: unknown): unknown =>
  typeof value === "string" && Object.hasOwn(aliases, value) ? aliases[value] : value;

function combine(
  key: "+and" | "+or",
  list: unknown,
  read: (each: unknown) => Condition | undefined,
): Condition | undefined {
  if (!Array.isArray(list)) throw refuse(texts.notAList({ key }));
  return (key === "+and" ? allOf : anyOf)(list.map(read));
}

function requireDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw refuse(texts.tooDeep({ levels: MAX_DEPTH }));
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const unknownOperator = (key: string, known: readonly string[]) =>
  refuse(texts.unknownOperator({ operator: shown(key), known }));
