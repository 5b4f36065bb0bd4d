import type { FilterKind, Operation } from "@moorage/contract";
import type { JsonSchema } from "./schemas.ts";

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
export function filterParameter(
  fields: NonNullable<Operation["filterable"]>,
  unorderable: readonly string[] = [],
): object {
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
