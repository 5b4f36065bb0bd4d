import type { Operation } from "@moorage/contract";
import { z } from "zod";
import { Refused } from "../admin-client.ts";
import { texts } from "./texts.ts";

/** The fields of an operation's reply; fields of nested objects by their full path. */
export function fieldNames({ reply }: Operation): string[] {
  const item = reply instanceof z.ZodObject ? reply.shape["data"] : undefined;
  return namesIn(item instanceof z.ZodArray ? (item.element as z.ZodType) : reply, "");
}

function namesIn(schema: z.ZodType, prefix: string): string[] {
  const inner = schema instanceof z.ZodNullable || schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  if (!(inner instanceof z.ZodObject)) return [];
  return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
    const within = namesIn(field, `${prefix}${name}.`);
    return [`${prefix}${name}`, ...within];
  });
}

/** The columns that `--columns` names. An unknown field is refused before any request is sent. */
export function chosenColumns(operation: Operation, columnsOption: unknown): string[] | undefined {
  if (typeof columnsOption !== "string") return undefined;
  const [columns, known] = [columnsOption.split(",").map((name) => name.trim()), fieldNames(operation)];
  const wrong = columns.filter((name) => !known.includes(name));
  if (wrong.length > 0) throw new Refused(texts.columnsUnknown({ columns: wrong, known }));
  return columns;
}
