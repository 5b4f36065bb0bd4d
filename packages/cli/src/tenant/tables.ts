import type { AnyOperation, DatabaseType, MetricSeries, Operation } from "@moorage/contract";
import { z } from "zod";
import type { Row } from "../output.ts";
import { Refused } from "../refused.ts";
import { at } from "./body-field.ts";
import { texts } from "./texts.ts";

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

/** Columns of lists for which the filterable fields are not what people look for. */
const columnsOfList: Readonly<Record<string, readonly string[]>> = {
  listEvents: ["id", "created", "action", "entity.type", "entity.label", "status", "percent_complete", "username"],
  listPersonalTokens: ["id", "label", "scopes", "created", "expiry", "token"],
};

/** The columns that `--columns` names. An unknown field is refused before any request is sent. */
export function chosenColumns(operation: AnyOperation, columnsOption: unknown): string[] | undefined {
  if (typeof columnsOption !== "string") return undefined;
  const [columns, known] = [columnsOption.split(",").map((name) => name.trim()), fieldNames(operation)];
  const wrong = columns.filter((name) => !known.includes(name));
  if (wrong.length > 0) throw new Refused(texts.columnsUnknown({ columns: wrong, known }));
  return columns;
}

/** The fields of an operation's reply; fields of nested objects by their full path. */
export function fieldNames({ reply }: AnyOperation): string[] {
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

/** Lists whose cells are computed from the fields. */
export const rowsOfList: Readonly<Record<string, (item: never) => Row>> = {
  listDatabaseTypes: ({ id, label, vcpus, memory, disk, engines }: DatabaseType) => ({
    id,
    label,
    vcpus,
    "memory MB": memory,
    "disk MB": disk,
    ...Object.fromEntries(
      engines.mysql.map(({ quantity, price }) => [
        `${quantity} ${quantity === 1 ? "node" : "nodes"} per month`,
        price.monthly,
      ]),
    ),
  }),
} satisfies Record<string, (item: never) => Row>;

/** Objects that are shown as a table. */
export const rowsOfObject: Readonly<Record<string, (object: never) => Row[]>> = {
  viewMysqlMetric: ({ series, unit }: MetricSeries) => {
    const times = [...new Set(series.flatMap(({ points }) => points.map(([second]) => second)))].sort((a, b) => a - b);
    return times.map((second) => ({
      time: new Date(second * 1000).toISOString().slice(0, 19),
      ...Object.fromEntries(
        series.map(({ node, points }) => [
          series.length === 1 ? unit : `${unit} ${node}`,
          points.find(([time]) => time === second)?.[1] ?? null,
        ]),
      ),
    }));
  },
};
