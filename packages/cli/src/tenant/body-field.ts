import { InvalidArgumentError, Option } from "commander";
import { z } from "zod";
import { texts as commonTexts } from "../texts.ts";
import { texts } from "./texts.ts";

/** A field of a body or query as an option: `updates.day_of_week` becomes `--updates.day-of-week`. */
export type Field = {
  path: readonly string[];
  /** The name of the option, if not the path. */
  option?: string;
  kind: "text" | "number" | "boolean" | "list" | "numbers" | "json";
  isNullable: boolean;
  isRequired: boolean;
  /** The default value. */
  preset?: unknown;
  /** The description or the valid values, from the contract. */
  help: string;
  choices: readonly string[];
};

export const flagOf = (path: readonly string[]): string => `--${path.join(".").replaceAll("_", "-")}`;

export function fieldsOf(schema: z.ZodObject, within: readonly string[] = [], isRequired = true): Field[] {
  return Object.entries(schema.shape).flatMap(([name, whole]) => {
    // A name that cannot be an option is an old client's alias of another field.
    if (!/^\w/.test(name)) return [];
    const path = [...within, name];
    const { inner, isOptional, isNullable, preset, description } = unwrap(whole as z.ZodType);
    const needed = isRequired && !isOptional;
    if (inner instanceof z.ZodObject && Object.keys(inner.shape).length > 0) return fieldsOf(inner, path, needed);
    return [{ path, isNullable, isRequired: needed, preset, help: description ?? helpOf(inner), ...kindOf(inner) }];
  });
}

type Unwrapped = {
  inner: z.ZodType;
  isOptional: boolean;
  isNullable: boolean;
  preset?: unknown;
  description?: string | undefined;
};

/** The description of the outermost schema that has one. */
function unwrap(schema: z.ZodType): Unwrapped {
  const { description, ...rest } = peel(schema);
  return { ...rest, description: schema.description ?? description };
}

function peel(schema: z.ZodType): Unwrapped {
  if (schema instanceof z.ZodDefault)
    return { ...unwrap(schema.unwrap() as z.ZodType), isOptional: true, preset: schema.def.defaultValue };
  if (schema instanceof z.ZodOptional) return { ...unwrap(schema.unwrap() as z.ZodType), isOptional: true };
  if (schema instanceof z.ZodNullable) return { ...unwrap(schema.unwrap() as z.ZodType), isNullable: true };
  if (schema instanceof z.ZodPipe) return unwrap(schema.in as z.ZodType);
  return { inner: schema, isOptional: false, isNullable: false };
}

function kindOf(schema: z.ZodType): Pick<Field, "kind" | "choices"> {
  if (schema instanceof z.ZodEnum) return { kind: "text", choices: schema.options.map(String) };
  if (schema instanceof z.ZodLiteral) return literal([...schema.values]);
  if (schema instanceof z.ZodArray)
    return { kind: listOf[kindOf(unwrap(schema.element as z.ZodType).inner).kind] ?? "json", choices: [] };
  if (schema instanceof z.ZodUnion) {
    const options = schema.options as z.ZodType[];
    if (options.every((option) => option instanceof z.ZodLiteral))
      return literal(options.flatMap((option) => [...option.values]));
    return kindOf(unwrap(options[0] as z.ZodType).inner);
  }
  return { kind: scalars[schema.type] ?? "json", choices: [] };
}

const scalars: Readonly<Record<string, Field["kind"]>> = { string: "text", number: "number", boolean: "boolean" };
const listOf: Readonly<Record<string, Field["kind"]>> = { text: "list", number: "numbers" };

const literal = (values: readonly unknown[]): Pick<Field, "kind" | "choices"> => ({
  kind: values.every((value) => typeof value === "number") ? "number" : "text",
  choices: values.map(String),
});

/** The contract's error message for a missing field describes the valid values. */
function helpOf(schema: z.ZodType): string {
  const message = schema.safeParse(undefined).error?.issues[0]?.message ?? "";
  return message.startsWith("Invalid ") ? "" : message;
}

const shapes: Readonly<Record<Field["kind"], string>> = {
  text: "<text>",
  number: "<number>",
  boolean: "[true|false]",
  list: "<text>",
  numbers: "<number>",
  json: "<json>",
};

export function optionOf(field: Field): Option {
  const { path, kind, help, choices, isRequired, preset } = field;
  const isList = kind === "list" || kind === "numbers";
  const otherwise = preset === undefined || isList ? "" : `(default: ${JSON.stringify(preset)})`;
  const needed = isRequired ? "(required)" : otherwise;
  const descriptions = [help || choices.join(", "), needed, isList ? "(repeatable)" : ""];
  const option = new Option(`${flagOf(path)} ${shapes[kind]}`, descriptions.filter(Boolean).join(" "));
  // Only for completion: the API itself checks the value and explains a refusal.
  if (choices.length > 0) option.argChoices = [...choices];
  return option.argParser((text: string, before: unknown) => valueOf(field, text, before));
}

/** Stands for null, which commander uses for an option without a value. */
const NULL = Symbol("null");

function valueOf({ kind, isNullable }: Field, text: string, before: unknown): unknown {
  const more = (value: unknown): unknown[] => [...(Array.isArray(before) ? (before as unknown[]) : []), value];
  if (isNullable && text === "null") return NULL;
  if (kind === "text") return text;
  if (kind === "json") return jsonOf(text);
  if (kind === "boolean") return booleanOf(text);
  if (kind === "number") return numberOf(text);
  // An empty text stands for the empty list.
  if (text === "") return [];
  return more(kind === "list" ? text : numberOf(text));
}

function booleanOf(text: string): boolean {
  if (text !== "true" && text !== "false") throw new InvalidArgumentError(texts.booleanInvalid().text);
  return text === "true";
}

function numberOf(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number)) throw new InvalidArgumentError(texts.numberInvalid().text);
  return number;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError(texts.jsonInvalid().text);
  }
}

/** The body for the API: the given options, on top of `whole`. */
export function gather(fields: readonly Field[], given: Readonly<Record<string, unknown>>, whole: object): object {
  const body = structuredClone(whole) as Record<string, unknown>;
  for (const field of fields) {
    const { path } = field;
    const value = given[keyOf(field)];
    if (value === undefined) continue;
    let place = body;
    for (const name of path.slice(0, -1)) place = (place[name] ??= {}) as Record<string, unknown>;
    place[path.at(-1) ?? ""] = value === NULL ? null : value;
  }
  return body;
}

/** Commander's name of the option. */
export const keyOf = ({ path, option = path.join(".") }: Field): string =>
  option.replaceAll(/[_-](.)/g, (_, next: string) => next.toUpperCase());

export const missingFrom = (fields: readonly Field[], body: object): Field[] =>
  fields.filter(({ path, isRequired }) => isRequired && at(body, path) === undefined);

export const at = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (place, name) =>
      typeof place === "object" && place !== null ? (place as Record<string, unknown>)[name] : undefined,
    value,
  );

/** Commander shows the error; otherwise a NaN would go to the control plane. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError(commonTexts.wholeNumberInvalid().text);
  return Number(text);
}
