import type { FilterKind } from "@moorage/contract";

/** A parsed X-Filter of a list. Without `where` it matches every row, without `order` the list has its own order. */
export type Filter = {
  readonly where: Condition | undefined;
  readonly order: { readonly field: string; readonly direction: "asc" | "desc" } | undefined;
};

export type Condition = Comparison | { readonly all: readonly Condition[] } | { readonly any: readonly Condition[] };

export type Comparison = {
  readonly field: string;
  readonly kind: FilterKind;
  readonly operator: Operator;
  /** A date is in seconds since 1970. A string field compared with a number is ordered numerically. */
  readonly value: string | number | boolean | null;
};

export type Operator = "eq" | "neq" | "gt" | "gte" | "lt" | "lte" | "contains";

/** Undefined is the condition that every row meets, so an empty filter produces no SQL. */
export function allOf(conditions: readonly (Condition | undefined)[]): Condition | undefined {
  const present = conditions.filter((each) => each !== undefined);
  return present.length < 2 ? present[0] : { all: present };
}

/** One of no alternatives: no row meets it. */
export function anyOf(conditions: readonly (Condition | undefined)[]): Condition | undefined {
  const present = conditions.filter((each) => each !== undefined);
  if (present.length < conditions.length) return undefined;
  return present.length === 1 ? present[0] : { any: present };
}
