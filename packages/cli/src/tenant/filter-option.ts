import type { FilterKind, Operation } from "@moorage/contract";
import { Refused } from "../refused.ts";
import { texts } from "./texts.ts";

/** The longest first, so that `>=` is not read as `>`. */
const signs = { "!=": "+neq", ">=": "+gte", "<=": "+lte", "=": undefined, ">": "+gt", "<": "+lt", "~": "+contains" };
const expression = /^([\w.]+?)\s*(!=|>=|<=|=|>|<|~)\s*(.*)$/s;

export const FILTER_HELP = "condition such as label~shop or 'created>2026-01-31', or X-Filter as JSON (repeatable)";

/** Translates `--filter status=active --filter label~shop --order-by label` to X-Filter. */
export function filterOf(
  operation: Operation,
  { filter = [], orderBy, order }: { filter?: readonly string[]; orderBy?: string; order?: string },
): object | undefined {
  const parts = [
    ...filter.map((text) => conditionOf(operation, text)),
    ...(orderBy === undefined ? [] : [{ "+order_by": orderBy }]),
    ...(order === undefined ? [] : [{ "+order": order }]),
  ];
  if (parts.length === 0) return undefined;
  const conditions = parts.filter((part) => !Object.keys(part).some((key) => key.startsWith("+order")));
  const ordering = Object.assign({}, ...parts.filter((part) => !conditions.includes(part))) as object;
  return conditions.length === 1 ? { ...conditions[0], ...ordering } : { "+and": conditions, ...ordering };
}

function conditionOf({ filterable = {} }: Operation, text: string): object {
  if (text.trimStart().startsWith("{")) return jsonFilter(text);
  const [, field = "", sign = "", value = ""] = expression.exec(text) ?? [];
  const kind = filterable[field];
  if (kind === undefined)
    throw new Refused(
      texts.filterInvalid({ filter: text, fields: Object.keys(filterable), operators: Object.keys(signs) }),
    );
  const operator = signs[sign as keyof typeof signs];
  const expected = valueOf(kind, value);
  return { [field]: operator === undefined ? expected : { [operator]: expected } };
}

function valueOf(kind: FilterKind, text: string): string | number | boolean | null {
  if (text === "null") return null;
  if (kind === "number" && text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  if (kind === "boolean" && /^(true|false)$/.test(text)) return text === "true";
  // A date without a time means the start of that day.
  return kind === "date" && /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00` : text;
}

function jsonFilter(text: string): object {
  try {
    return JSON.parse(text) as object;
  } catch {
    throw new Refused(texts.filterNotJson({ filter: text }));
  }
}
