import type { FilterKind, Operation } from "@moorage/contract";
import { Refused } from "../admin-client.ts";

/** The longest first, so that `>=` is not read as `>`. */
const signs = { "!=": "+neq", ">=": "+gte", "<=": "+lte", "=": undefined, ">": "+gt", "<": "+lt", "~": "+contains" };
const expression = /^([\w.]+?)\s*(!=|>=|<=|=|>|<|~)\s*(.*)$/s;

export const FILTER_HELP = "such as label~shop or 'created>2026-01-31', all of them; or X-Filter as JSON";

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
      `--filter ${text}: say <field><sign><value>, with a field of ${Object.keys(filterable).join(", ")}, and a sign of ${Object.keys(signs).join(" ")}.`,
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
    throw new Refused(`--filter ${text}: it is not JSON.`);
  }
}
