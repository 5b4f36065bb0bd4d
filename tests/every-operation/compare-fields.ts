import { isIP } from "node:net";
import { deviations, type Field, type Fields, type Scalar } from "./expected-fields.ts";

/** `at` is the object's name and the path in it, without list indexes. */
export type Difference = { at: string; is: string };

export type JsonSchema = {
  $ref?: string;
  type?: string | readonly string[];
  anyOf?: readonly JsonSchema[];
  enum?: readonly unknown[];
  const?: unknown;
  pattern?: string;
  format?: string;
  properties?: Record<string, JsonSchema>;
  required?: readonly string[];
  items?: JsonSchema;
};
type Schemas = Readonly<Record<string, JsonSchema>>;

/** The differences between a schema of the document and the interface. */
export const differencesOfSchema = (schema: JsonSchema, reply: Field, schemas: Schemas): Difference[] =>
  schemaOfField(schema, reply, "reply", schemas);

function schemaOfObject(schema: JsonSchema, fields: Fields, at: string, schemas: Schemas): Difference[] {
  const { properties = {}, required = [] } = schema;
  const extra = Object.keys(properties).filter((key) => !(key in fields));
  return [
    ...extra.map((key) => ({ at: `${at}.${key}`, is: "is not in the interface" })),
    ...Object.entries(fields).flatMap(([key, field]): Difference[] => {
      const property = properties[key];
      const here = `${at}.${key}`;
      if (property === undefined) return [{ at: here, is: "is missing" }];
      const optional = required.includes(key) ? [] : [{ at: here, is: "may be missing" }];
      return [...optional, ...schemaOfField(property, field, here, schemas)];
    }),
  ];
}

function schemaOfField(given: JsonSchema, field: Field, at: string, schemas: Schemas): Difference[] {
  const { alternatives, nullable } = alternativesOf(given, schemas);
  const nulls = nullable === (field.nullable === true) ? [] : [{ at, is: nullable ? "may be null" : "is never null" }];
  const [only = {}] = alternatives;
  if ("fields" in field)
    return [
      ...nulls,
      ...ifType(only, "object", at, () => schemaOfObject(only, field.fields, field.name ?? at, schemas)),
    ];
  if ("list" in field)
    return [...nulls, ...ifType(only, "array", at, () => schemaOfField(only.items ?? {}, field.list, at, schemas))];
  if ("byKind" in field) {
    const kinds = Object.values(only.properties ?? {});
    return [
      ...nulls,
      ...ifType(only, "object", at, () => kinds.flatMap((kind) => schemaOfField(kind, field.byKind, at, schemas))),
    ];
  }
  if ("is" in field) {
    const found = [...new Set(alternatives.map(typeOf))].toSorted().join(" or ");
    const expected = [...new Set(field.is.map(jsonTypeOf))].toSorted().join(" or ");
    if (found !== expected) return [...nulls, { at, is: `is ${found}, not ${expected}` }];
    return field.is.includes("date-time") && !isPatternOfTimes(only)
      ? [...nulls, { at, is: "is not a date-time" }]
      : nulls;
  }
  const values = alternatives.flatMap((each) => each.enum ?? ("const" in each ? [each.const] : []));
  const isOpen = alternatives.some((each) => each.enum === undefined && !("const" in each));
  if ("known" in field) {
    const unrecognised = values.filter((value) => !isKnown(field, value));
    return [...nulls, ...unrecognised.map((value) => ({ at, is: `has the value ${String(value)}` }))];
  }
  return [
    ...nulls,
    ...(isOpen ? [{ at, is: "has any value" }] : []),
    ...values
      .filter((value) => !isOneOf(field.values, value))
      .map((value) => ({ at, is: `has the value ${String(value)}` })),
    ...(isOpen
      ? []
      : field.values
          .filter((value) => !values.includes(value))
          .map((value) => ({ at, is: `lacks the value ${value}` }))),
  ];
}

const isOneOf = (values: readonly unknown[], value: unknown): boolean => values.includes(value);
const isKnown = ({ known, ours }: { known: readonly string[]; ours: string }, value: unknown): boolean =>
  typeof value === "string" && (known.includes(value) || value.startsWith(ours));

const ifType = (schema: JsonSchema, type: string, at: string, then: () => Difference[]): Difference[] =>
  typeOf(schema) === type ? then() : [{ at, is: `is ${typeOf(schema)}, not ${type}` }];

const resolve = (schema: JsonSchema, schemas: Schemas): JsonSchema =>
  schema.$ref === undefined ? schema : resolve(schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {}, schemas);

/** The types of a value besides null. */
function alternativesOf(given: JsonSchema, schemas: Schemas): { alternatives: JsonSchema[]; nullable: boolean } {
  const schema = resolve(given, schemas);
  const all = (schema.anyOf ?? [schema]).flatMap((each): JsonSchema[] => {
    const { type, ...rest } = resolve(each, schemas);
    return Array.isArray(type) ? type.map((one: string) => ({ ...rest, type: one })) : [resolve(each, schemas)];
  });
  const alternatives = all.filter(({ type }) => type !== "null");
  return { alternatives, nullable: alternatives.length < all.length };
}

const typeOf = ({ type, enum: values, const: value }: JsonSchema): string =>
  typeof type === "string" ? type : typeof (values?.[0] ?? value);

const jsonTypeOf = (type: Scalar): string =>
  type === "integer" || type === "number" || type === "boolean" ? type : "string";

/** The document describes times by a pattern: in RFC 3339, which `format: date-time` means, they would have a zone. */
const isPatternOfTimes = ({ pattern }: JsonSchema): boolean =>
  pattern !== undefined &&
  new RegExp(pattern).test("2026-01-31T23:59:59") &&
  !new RegExp(pattern).test("2026-01-31T23:59:59Z");

/** The differences between a reply and the interface. */
export const differencesOfReply = (value: unknown, reply: Field): Difference[] =>
  differencesOfValue(value, reply, "reply");

function differencesOfObject(value: unknown, fields: Fields, at: string): Difference[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [{ at, is: "is no object" }];
  const extra = Object.keys(value).filter((key) => !(key in fields));
  return [
    ...extra.map((key) => ({ at: `${at}.${key}`, is: "is not in the interface" })),
    ...Object.entries(fields).flatMap(([key, field]) =>
      key in value
        ? differencesOfValue((value as Record<string, unknown>)[key], field, `${at}.${key}`)
        : [{ at: `${at}.${key}`, is: "is missing" }],
    ),
  ];
}

function differencesOfValue(value: unknown, field: Field, at: string): Difference[] {
  if (value === null) return field.nullable === true ? [] : [{ at, is: "may be null" }];
  if ("fields" in field) return differencesOfObject(value, field.fields, field.name ?? at);
  if ("list" in field)
    return Array.isArray(value)
      ? value.flatMap((item) => differencesOfValue(item, field.list, at))
      : [{ at, is: "is no list" }];
  if ("byKind" in field)
    return typeof value === "object"
      ? Object.values(value).flatMap((item) => differencesOfValue(item, field.byKind, at))
      : [{ at, is: "is no object" }];
  const fits =
    "is" in field
      ? field.is.some((type) => isA[type](value))
      : "known" in field
        ? isKnown(field, value)
        : isOneOf(field.values, value);
  return fits ? [] : [{ at, is: `has the value ${JSON.stringify(value)}` }];
}

const isText = (value: unknown): value is string => typeof value === "string";
const isA: Record<Scalar, (value: unknown) => boolean> = {
  string: isText,
  integer: Number.isSafeInteger,
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  "date-time": (value) => isText(value) && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/.test(value),
  url: (value) => isText(value) && URL.canParse(value),
  uuid: (value) => isText(value) && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value),
  ip: (value) => isText(value) && isIP(value) !== 0,
};

const meant = new Set(deviations.flatMap(({ fields, is }) => fields.map((field) => `${field} ${is}`)));
/** The differences that the fixture does not list as deviations. */
export const unlisted = (differences: readonly Difference[]): Difference[] =>
  differences.filter(({ at, is }) => !meant.has(`${at} ${is}`));
