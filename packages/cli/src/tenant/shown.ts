import type { Operation } from "@moorage/contract";
import { z } from "zod";
import { at } from "./body-field.ts";
import { columnsOfList } from "./tables.ts";

type Cell = string | number | boolean | null;
const MOST_COLUMNS = 8;

/** Default columns of a list: name, the fields that can be filtered by, and status. */
export function columnsOf({ id, reply, filterable = {} }: Operation): readonly string[] {
  const own = columnsOfList[id];
  if (own !== undefined) return own;
  const item = reply instanceof z.ZodObject ? reply.shape["data"] : undefined;
  const shape = item instanceof z.ZodArray && item.element instanceof z.ZodObject ? item.element.shape : {};
  const has = (name: string): boolean => Object.hasOwn(shape, name.split(".")[0] ?? "");
  const names = ["id", "username", "label", ...Object.keys(filterable), "status", "created", "message"];
  const known = [...new Set(names)].filter(has);
  const rest = Object.keys(shape).filter((name) => !known.includes(name));
  return Object.keys(filterable).length > 0 ? known : [...known, ...rest].slice(0, MOST_COLUMNS);
}

export const rowOf =
  (columns: readonly string[]) =>
  (item: unknown): Record<string, Cell> =>
    Object.fromEntries(columns.map((column) => [column, cellOf(at(item, column.split(".")))]));

function cellOf(value: unknown): Cell {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.join(", ");
  return JSON.stringify(value);
}

/** One object, one line per field; fields of nested objects by their full path. */
export function linesOf(value: object): string {
  const facts = flat(value, "");
  const width = Math.max(0, ...facts.map(([name]) => name.length));
  return facts.map(([name, cell]) => `${name.padEnd(width)}  ${cell === null || cell === "" ? "-" : cell}`).join("\n");
}

function flat(value: object, prefix: string): [string, Cell][] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]): [string, Cell][] =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? flat(inner, `${prefix}${name}.`)
      : [[`${prefix}${name}`, cellOf(inner)]],
  );
}
