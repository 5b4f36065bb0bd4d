/**
 * A second implementation of filters for the tests, over rows as a caller sees them: plain JSON in, no SQL, no code
 * shared with the parser. It expects well-formed filters.
 */
export type Shown = Readonly<Record<string, string | number | boolean | null>>;
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export const meets = (row: Shown, filter: Json): boolean =>
  Object.entries(filter as object).every(([key, value]: [string, Json]) => {
    if (key === "+order_by" || key === "+order") return true;
    if (key === "+and") return (value as Json[]).every((each) => meets(row, each));
    if (key === "+or") return (value as Json[]).some((each) => meets(row, each));
    return fits(row[key] ?? null, value);
  });

function fits(actual: Shown[string], condition: Json): boolean {
  if (typeof condition !== "object" || condition === null) return isEqual(actual, condition);
  return Object.entries(condition).every(([operator, value]: [string, Json]) => {
    switch (operator) {
      case "+and":
        return (value as Json[]).every((each) => fits(actual, each));
      case "+or":
        return (value as Json[]).some((each) => fits(actual, each));
      case "+neq":
        return !isEqual(actual, value);
      case "+contains":
        return actual !== null && String(actual).toLowerCase().includes(text(value).toLowerCase());
      case "+gt":
        return isOrdered(actual, value, (order) => order > 0);
      case "+gte":
        return isOrdered(actual, value, (order) => order >= 0);
      case "+lt":
        return isOrdered(actual, value, (order) => order < 0);
      case "+lte":
        return isOrdered(actual, value, (order) => order <= 0);
      default:
        throw new Error(`${operator} is not in the grammar.`);
    }
  });
}

const isEqual = (actual: Shown[string], value: Json): boolean =>
  actual === null || value === null ? actual === value : text(actual) === text(value);

const text = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

function isOrdered(actual: Shown[string], value: Json, holds: (order: number) => boolean): boolean {
  if (actual === null) return false;
  if (typeof actual === "number" || (typeof value === "number" && /^[0-9]{1,15}$/.test(String(actual)))) {
    return holds(Number(actual) - Number(value));
  }
  return typeof value === "string" && holds(byCodePoint(String(actual), value));
}

/** Null is the largest; equal rows stay in the order of their ids. */
export function inOrder<Row extends Shown & { readonly id: number }>(rows: readonly Row[], filter: Json): Row[] {
  const { "+order_by": by, "+order": direction } = filter as { "+order_by"?: string; "+order"?: string };
  const sign = direction === "desc" ? -1 : 1;
  return rows.toSorted((a, b) => (by === undefined ? 0 : sign * rank(a[by] ?? null, b[by] ?? null)) || a.id - b.id);
}

function rank(a: Shown[string], b: Shown[string]): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return typeof a === "string" ? byCodePoint(a, String(b)) : Number(a) - Number(b);
}

/** JavaScript orders by UTF-16 units, which puts emoji before some letters. */
const byCodePoint = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
