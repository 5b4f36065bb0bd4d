import type { FilterKind } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { z } from "zod";
import { DomainError } from "#platform/errors.ts";
import type { Comparison, Operator } from "./condition.ts";
import { texts } from "./texts.ts";

const ordering: readonly Operator[] = ["eq", "neq", "gt", "gte", "lt", "lte"];
const applicable: Record<FilterKind, readonly Operator[]> = {
  string: [...ordering, "contains"],
  number: ordering,
  date: ordering,
  boolean: ["eq", "neq"],
};
const expected: Record<FilterKind, string> = {
  string: "a string or a number",
  number: "a number",
  date: "a date such as 2026-01-31T12:00:00",
  boolean: "true or false",
};

/** One field against one value. Whatever passes here can be bound to a statement without an error of Postgres. */
export function readComparison(field: string, kind: FilterKind, operator: Operator, given: unknown): Comparison {
  const name = shown(field);
  if (!applicable[kind].includes(operator)) throw refuse(texts.operatorNotForField({ field: name, operator }));
  if (given === null) {
    if (operator !== "eq" && operator !== "neq") throw refuse(texts.operatorNotForNull({ field: name, operator }));
    return { field, kind, operator, value: null };
  }
  if (Array.isArray(given)) throw refuse(texts.valueIsAList({ field: name }));
  const value = valueOf(kind, operator, given);
  if (value === undefined) throw refuse(texts.valueOfOtherKind({ field: name, expected: expected[kind] }));
  return { field, kind, operator, value };
}

function valueOf(kind: FilterKind, operator: Operator, given: unknown): Comparison["value"] | undefined {
  switch (kind) {
    case "string":
      return textOf(operator, given);
    case "number":
      return numberOf(given);
    case "boolean":
      return typeof given === "boolean" ? given : undefined;
    case "date":
      return secondsOf(given);
  }
}

/** Ids that are stored as text are sent as numbers: equal by their digits, ordered by their value. */
function textOf(operator: Operator, given: unknown): string | number | undefined {
  if (typeof given === "number" && Number.isFinite(given)) {
    return operator === "eq" || operator === "neq" || operator === "contains" ? String(given) : given;
  }
  // Postgres stores neither U+0000 nor half of a surrogate pair.
  return typeof given === "string" && given.isWellFormed() && !given.includes("\0") ? given : undefined;
}

function numberOf(given: unknown): number | undefined {
  const number = typeof given === "string" && /^-?\d+(\.\d+)?$/.test(given) ? Number(given) : given;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

const date = z.iso.date();
const dateTime = z.iso.datetime({ local: true, offset: true });

/** UTC unless it names a zone. */
function secondsOf(given: unknown): number | undefined {
  if (date.safeParse(given).success) return Date.parse(given as string) / 1000;
  if (!dateTime.safeParse(given).success) return undefined;
  const text = given as string;
  return Date.parse(/(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`) / 1000;
}

export const refuse = (reason: Text): DomainError => new DomainError("invalid", { field: "X-Filter", reason });

/** A caller's text, shortened for an error message. */
export const shown = (name: string): string => (name.length > 60 ? `${name.slice(0, 60).toWellFormed()}…` : name);
