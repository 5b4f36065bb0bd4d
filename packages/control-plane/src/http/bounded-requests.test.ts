import { type AnyOperation, longestTexts, operations } from "@moorage/contract";
import { operatorOperations } from "@moorage/contract/operator";
import { expect, test } from "vitest";
import { z } from "zod";
import { withoutWrappers } from "#platform/http/long-lists.ts";
import { judgeUnknownFields } from "#platform/http/unknown-fields.ts";
import { validate } from "#platform/http/validate.ts";
import { DomainError } from "#platform/errors.ts";

const all: readonly AnyOperation[] = [...operations, ...operatorOperations];

type Schema = {
  type?: string;
  maxLength?: number;
  format?: string;
  pattern?: string;
  enum?: unknown[];
  const?: unknown;
  maxItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  allOf?: Schema[];
};

const jsonOf = (schema: z.ZodType, override: Override = () => {}): Schema =>
  z.toJSONSchema(schema, { io: "input", unrepresentable: "any", override }) as Schema;
type Override = NonNullable<Parameters<typeof z.toJSONSchema>[1]>["override"];

/** Formats whose notation has a longest text, unlike `email` and `uri`. */
const boundedFormats = new Set<string | undefined>(["uuid", "ipv4", "ipv6", "cidrv4", "cidrv6"]);

const isBoundedText = ({ maxLength, format, pattern, enum: values, const: value }: Schema): boolean =>
  maxLength !== undefined ||
  values !== undefined ||
  value !== undefined ||
  boundedFormats.has(format) ||
  (pattern !== undefined && hasLongestMatch(pattern));

/** What must not follow limits nothing and adds nothing. */
const lookahead = /\(\?!(?:[^()]|\([^()]*\))*\)/g;

/** Anchored at both ends, and nothing in it is repeated without a bound. */
const hasLongestMatch = (whole: string): boolean => isLimited(whole.replaceAll(lookahead, ""));
const isLimited = (pattern: string): boolean =>
  /^\^.*\$$/s.test(pattern) && !/[*+]|\{\d+,\}/.test(pattern.replaceAll(/\\.|\[(?:\\.|[^\]])*\]/g, "x"));

/** The texts of a request whose length nothing limits. */
function* endlessTextsIn(schema: Schema, place: string): Generator<string> {
  const { type, items, properties = {}, anyOf = [], allOf = [] } = schema;
  const parts = [schema, ...allOf];
  if (type === "string" && !parts.some(isBoundedText)) yield place;
  if (items !== undefined) yield* endlessTextsIn(items, `${place}[]`);
  for (const [name, inner] of Object.entries(properties)) yield* endlessTextsIn(inner, `${place}.${name}`);
  for (const inner of [...anyOf, ...(type === "string" ? [] : allOf)]) yield* endlessTextsIn(inner, place);
}

/** The places of a request whose number of entries nothing limits. */
function* unlimitedIn(
  { items, properties = {}, anyOf = [], allOf = [], ...schema }: Schema,
  place: string,
): Generator<string> {
  if (items !== undefined) {
    if (schema.maxItems === undefined) yield place;
    yield* unlimitedIn(items, `${place}[]`);
  }
  if (typeof schema.additionalProperties === "object" && Object.keys(schema.additionalProperties).length > 0)
    yield `${place}.*`;
  for (const [name, inner] of Object.entries(properties)) yield* unlimitedIn(inner, `${place}.${name}`);
  for (const inner of [...anyOf, ...allOf]) yield* unlimitedIn(inner, place);
}

test("every list in a request has a maximum", () => {
  const unlimited = all.flatMap(({ id, params, query, body }) =>
    [params, query, body].flatMap((schema) => (schema === undefined ? [] : [...unlimitedIn(jsonOf(schema), id)])),
  );

  expect(unlimited).toEqual([]);
});

// Paths and queries are bounded by the server, to a few kilobytes.
test("every text in a body has a maximum", () => {
  const untrue: unknown[] = [];
  const endless = all.flatMap(({ id, body }) =>
    body === undefined
      ? []
      : [
          ...endlessTextsIn(
            jsonOf(body, ({ zodSchema, jsonSchema }) => {
              const known = longestTexts.get(zodSchema);
              if (known === undefined) return;
              jsonSchema.maxLength = known.longest;
              if (z.safeParse(zodSchema, "1".repeat(known.longest + 1)).success) untrue.push(zodSchema);
            }),
            id,
          ),
        ],
  );

  expect([endless, untrue]).toEqual([[], []]);
});

test.each([
  ["^[a-z]{1,30}$", true],
  ["^a\\+b[*+]$", true],
  ["^(?!0*(?:\\.0*)?$)\\d{1,7}$", true],
  ["^[a-z]+$", false],
  ["^[a-z]{2,}$", false],
  ["^.*$", false],
  ["[a-z]{2}", false],
])("texts that match %s have a maximum: %s", (pattern, expected) => {
  expect(hasLongestMatch(pattern)).toBe(expected);
});

const fillings = { texts: "x", "no texts": "\0", numbers: -1, objects: {}, lists: [] } as const;

/** Bodies in which one list has as many entries as it may have, and all of them are wrong. */
function* wrongBodies(schema: unknown): Generator<{ what: string; body: unknown }> {
  const known = withoutWrappers(schema);
  if (known instanceof z.ZodObject)
    for (const [name, inner] of Object.entries(known.shape))
      for (const { what, body } of wrongBodies(inner)) yield { what: `${name} ${what}`, body: { [name]: body } };
  if (known instanceof z.ZodArray)
    for (const [kind, value] of Object.entries(fillings))
      yield { what: `of ${kind}`, body: Array.from({ length: jsonOf(known).maxItems ?? 0 }, () => value) };
}

test("no body gets more refusals than a person reads, however many of its values are wrong", () => {
  const tried = all.flatMap((operation) =>
    [...wrongBodies(operation.body)].map(({ what, body }) => ({
      what: `${operation.id}: ${what}`,
      refusals: refusalsOf(operation, body as object),
    })),
  );

  expect(tried.filter(({ refusals }) => refusals >= 20).length).toBeGreaterThan(50);
  expect(tried.filter(({ refusals }) => refusals > 30)).toEqual([]);
});

function refusalsOf(operation: AnyOperation, body: object): number {
  try {
    validate(operation.body as z.ZodObject, body, judgeUnknownFields(operation as never, body).faults);
    return 0;
  } catch (error) {
    if (error instanceof DomainError) return error.errors.length;
    throw error;
  }
}
