import type { z } from "zod";
import { DomainError, type ErrorDetail, invalidReason } from "#platform/errors.ts";

/** Parses or refuses with every fault at once, each with the name of its field. */
export function validate<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new DomainError("invalid", ...parsed.error.issues.map((issue) => detailOf(issue, input)));
}

function detailOf(issue: z.core.$ZodIssue, input: unknown): ErrorDetail {
  const field = issue.path.reduce<string>(
    (name, key) => (typeof key === "number" ? `${name}[${key}]` : name === "" ? String(key) : `${name}.${String(key)}`),
    "",
  );
  if (field === "") return { reason: "The body must be a JSON object." };
  if (valueAt(input, issue.path) === undefined) return { field, reason: `${field} is required` };
  return { field, reason: invalidReason(field, issue.message) };
}

const valueAt = (input: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], input);
