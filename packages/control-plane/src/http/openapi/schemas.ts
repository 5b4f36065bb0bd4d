import { openSets } from "@moorage/contract";
import { z } from "zod";

export type JsonSchema = Record<string, unknown>;

export type Schemas = ReturnType<typeof createSchemas>;

/** Zod's JSON schemas. A schema that `contract` exports by name becomes a component; others stay inline. */
export function createSchemas(contract: object) {
  const names = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(contract).filter(isNamed)) names.add(schema, { id });
  const components: Record<string, JsonSchema> = {};

  const ofReply = (schema: z.ZodType): JsonSchema => {
    const json = z.toJSONSchema(schema, { io: "output", metadata: names, override: plainAndOpen });
    const { $defs = {}, $schema: _, id, ...rest } = withComponentRefs(json);
    for (const [name, { id: __, ...definition }] of Object.entries($defs as Record<string, JsonSchema>))
      components[name] = definition;
    if (typeof id !== "string") return rest;
    components[id] = rest;
    return { $ref: `#/components/schemas/${id}` };
  };

  return {
    ofReply,
    /** What a caller may omit differs from what a response has, so requests share no component with responses. */
    ofInput(schema: z.core.$ZodType): JsonSchema {
      const { $schema: _, ...rest } = z.toJSONSchema(schema, {
        io: "input",
        metadata: z.registry<object>(),
        override: plain,
      });
      return rest;
    },
    components: () => Object.fromEntries(Object.entries(components).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

const isNamed = (entry: [string, unknown]): entry is [string, z.ZodType] =>
  entry[1] instanceof z.ZodObject || entry[1] instanceof z.ZodEnum;

type Overridden = { zodSchema: z.core.$ZodType; jsonSchema: z.core.JSONSchema.BaseSchema };

/** Responses may gain fields: a validator generated from an older document must accept them. */
function plainAndOpen(context: Overridden): void {
  plain(context);
  if (context.jsonSchema.additionalProperties === false) delete context.jsonSchema.additionalProperties;
}

/**
 * Omits bounds that only describe what JSON numbers can hold, and writes types and patterns as every consumer reads
 * them.
 */
function plain({ zodSchema, jsonSchema }: Overridden): void {
  const known = openSets.get(zodSchema as z.ZodString)?.known;
  if (known !== undefined) jsonSchema["x-extensible-enum"] = [...known];
  const description = z.globalRegistry.get(zodSchema)?.description;
  if (description !== undefined) jsonSchema.description = description;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.type === "number" && jsonSchema.enum?.every(Number.isInteger) === true) jsonSchema.type = "integer";
  if (jsonSchema.pattern !== undefined)
    jsonSchema.pattern = jsonSchema.pattern.replace("\\p{Cc}", "\\x00-\\x1f\\x7f-\\x9f");
}

const withComponentRefs = (schema: object): JsonSchema =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as JsonSchema;
