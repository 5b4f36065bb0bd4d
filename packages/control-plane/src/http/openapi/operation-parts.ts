import type { AnyOperation, FilterKind, Operation } from "@moorage/contract";
import type { z } from "zod";
import type { JsonSchema, Schemas } from "./schemas.ts";

const queryInteger = (name: string, description: string, schema: JsonSchema): object => ({
  name,
  in: "query",
  description,
  schema: { type: "integer", ...schema },
});
export const pageParameters = {
  page: queryInteger("page", "The page to return; one past the end is empty.", { minimum: 1, default: 1 }),
  page_size: queryInteger("page_size", "How many items a page has.", { minimum: 25, maximum: 500, default: 100 }),
};

/** `others`: the names of further parameters that are components. */
export function parametersOf(operation: AnyOperation, schemas: Schemas, others: readonly string[]): object[] {
  const shape = operation.params?.shape ?? {};
  const path = Object.entries(shape).map(([name, schema]) => ({
    name,
    in: "path",
    required: true,
    schema: schemas.ofInput(schema),
    ...(name === operation.slashParam ? { description: "Holds a slash, which may be sent as it is or as `%2F`." } : {}),
  }));
  const query = Object.entries(operation.query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: false,
    schema: schemas.ofInput(schema as z.ZodType),
  }));
  const common = operation.paged === true ? Object.keys(pageParameters) : others;
  return [
    ...path,
    ...query,
    ...common.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ...(operation.filterable === undefined ? [] : [filterParameter(operation.filterable, operation.unorderable)]),
  ];
}

const valueOf: Record<FilterKind, JsonSchema> = {
  string: { type: "string" },
  number: { type: "number" },
  boolean: { type: "boolean" },
  date: { type: "string", description: "A date such as 2026-01-31T00:00:00, UTC." },
};

const nested = {
  type: "array",
  items: { type: "object" },
  description: "Filters of the same form, to any depth.",
};

/** The header as JSON: the filterable fields of a collection are part of its contract. */
function filterParameter(fields: NonNullable<Operation["filterable"]>, unorderable: readonly string[] = []): object {
  const names = Object.keys(fields);
  return {
    name: "X-Filter",
    in: "header",
    description: `Which items to return, and in which order. Fields: ${names.map((name) => `\`${name}\``).join(", ")}. A value means equality; \`+gt\`, \`+gte\`, \`+lt\`, \`+lte\`, \`+neq\` and \`+contains\` compare, \`+and\` and \`+or\` combine.`,
    content: {
      "application/json": {
        schema: {
          type: "object",
          properties: {
            ...Object.fromEntries(
              Object.entries(fields).map(([name, kind]) => [
                name,
                { anyOf: [valueOf[kind], { type: "null" }, { type: "object" }] },
              ]),
            ),
            "+and": nested,
            "+or": nested,
            "+order_by": { type: "string", enum: names.filter((name) => !unorderable.includes(name)) },
            "+order": { type: "string", enum: ["asc", "desc"], default: "asc" },
          },
          additionalProperties: false,
        },
      },
    },
  };
}

/** The bytes as on the wire, without an encoding. */
const file = { type: "string", format: "binary" };

export function requestBodyOf({ body, upload }: AnyOperation, schemas: Schemas): object {
  if (upload !== undefined) {
    const schema = { ...file, maxLength: upload.mostBytes };
    return {
      requestBody: { required: true, content: Object.fromEntries(upload.types.map((type) => [type, { schema }])) },
    };
  }
  return body === undefined
    ? {}
    : { requestBody: { required: true, content: { "application/json": { schema: schemas.ofInput(body) } } } };
}

export const replyContentOf = ({ download, reply }: AnyOperation, schemas: Schemas): object =>
  download === undefined
    ? { "application/json": { schema: schemas.ofReply(reply) } }
    : { [download]: { schema: file } };

/** The errors that operations have in common. */
const errorDescriptions = {
  400: "Something in the request is not valid, or the object is not in a state that allows it.",
  401: "The token is missing, unknown, expired or revoked, or lacks a scope that this needs.",
  403: "The user may not do this.",
  404: "There is no such object that the user may see.",
  405: "The path does not know this method.",
  413: "The body is too large.",
  429: "Too many requests.",
  500: "A fault of the service.",
  503: "The service cannot do this at the moment.",
} as const;

type ErrorStatus = keyof typeof errorDescriptions;

const withRetryAfter: readonly number[] = [429, 503];

export const errorStatuses = ({ access, params, body, method }: Operation): ErrorStatus[] => {
  const possible: Partial<Record<ErrorStatus, boolean>> = {
    403: access !== "public",
    404: params !== undefined,
    413: body !== undefined || method !== "GET",
  };
  return (Object.keys(errorDescriptions).map(Number) as ErrorStatus[]).filter((status) => possible[status] ?? true);
};

export const errorResponses = (
  schema: JsonSchema,
  statuses: readonly ErrorStatus[] = Object.keys(errorDescriptions).map(Number) as ErrorStatus[],
): object =>
  Object.fromEntries(
    statuses
      .map((status) => [status, errorDescriptions[status]] as const)
      .map(([status, description]) => [
        status,
        {
          ...errorResponse(description, schema),
          ...(withRetryAfter.includes(status)
            ? { headers: { "Retry-After": { $ref: "#/components/headers/Retry-After" } } }
            : {}),
        },
      ]),
  );

/** For a status whose meaning depends on the operation. */
export const errorResponse = (description: string, schema: JsonSchema): object => ({
  description,
  content: { "application/json": { schema } },
});
