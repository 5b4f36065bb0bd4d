import type { z } from "zod";
import { DomainError, type ErrorDetail, invalidReason } from "#platform/errors.ts";
import { faultsOfLongLists, MOST_FAULTS } from "./long-lists.ts";
import { texts } from "./texts.ts";

/** Parses, or refuses with every fault at once, each with its field; `others` are faults that are known already. */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  others: readonly ErrorDetail[] = [],
): z.output<Schema> {
  const notText = fieldsThatAreNotText(input, []);
  if (notText.length > 0)
    throw new DomainError(
      "invalid",
      ...notText.slice(0, MOST_FAULTS).map((field) => ({ field, reason: invalidReason(field, texts.notText()) })),
    );
  const { faults, rest, lists } = faultsOfLongLists(schema, input);
  const leftOut = new Set(lists.map(fieldOf));
  const parsed = schema.safeParse(rest);
  // Without its entries a list may be too short, which is not what is wrong with it.
  const ofRest = (parsed.error?.issues ?? []).filter(({ path }) => !leftOut.has(fieldOf(path)));
  const issues = [...ofRest, ...faults];
  if (parsed.success && issues.length + others.length === 0) return parsed.data;
  throw new DomainError("invalid", ...issues.map((issue) => detailOf(issue, input)), ...others);
}

/** The fields that are valid, and the defaults of those that were omitted. */
export const validPartOf = <Schema extends z.ZodObject>(schema: Schema, input: unknown): Partial<z.output<Schema>> =>
  Object.fromEntries(
    Object.entries(schema.shape).flatMap(([name, field]) => {
      const value = valueAt(input, [name]);
      const parsed = (field as z.ZodType).safeParse(value);
      const isRight = parsed.success && parsed.data !== undefined && fieldsThatAreNotText(value, []).length === 0;
      return isRight ? [[name, parsed.data]] : [];
    }),
  ) as Partial<z.output<Schema>>;

/** PostgreSQL stores no U+0000, and would store half of a surrogate pair as something else than was sent. */
export const isText = (value: string): boolean => value.isWellFormed() && !value.includes("\0");

function fieldsThatAreNotText(value: unknown, path: readonly PropertyKey[]): string[] {
  if (typeof value === "string") return isText(value) ? [] : [fieldOf(path)];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const here = [...path, Array.isArray(value) ? Number(key) : key];
    // Free JSON is stored with its names.
    return isText(key) ? fieldsThatAreNotText(inner, here) : [fieldOf(here)];
  });
}

function detailOf(issue: z.core.$ZodIssue, input: unknown): ErrorDetail {
  const field = fieldOf(issue.path);
  if (field === "") return { reason: texts.notAnObject() };
  if (valueAt(input, issue.path) === undefined) return { field, reason: texts.required({ field }) };
  return { field, reason: invalidReason(field, texts.invalidField({ valid: issue.message })) };
}

export const fieldOf = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (name, key) => (typeof key === "number" ? `${name}[${key}]` : name === "" ? String(key) : `${name}.${String(key)}`),
    "",
  );

const valueAt = (input: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | null | undefined)?.[key], input);
