import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Comparison, Condition, Filter, Operator } from "./condition.ts";

/** The column of each filterable field, or an expression of the field's kind (text, not an enum). */
export type FilterColumns = Readonly<Record<string, string | Expression<unknown>>>;

type Sql = RawBuilder<SqlBool>;

export const whereOf = ({ where }: Filter, columns: FilterColumns): Expression<SqlBool> =>
  where === undefined ? sql<SqlBool>`true` : conditionSql(where, columns);

/** Rows may be equal by this order: the list adds a unique key, or pages would overlap. */
export const orderOf = (
  { order }: Filter,
  columns: FilterColumns,
): { column: Expression<unknown>; direction: "asc" | "desc" } | undefined =>
  order && { column: columnOf(columns, order.field), direction: order.direction };

/** There is no negation, so a comparison with null is simply not met. */
function conditionSql(condition: Condition, columns: FilterColumns): Sql {
  if ("all" in condition) return joined(condition.all, columns, sql` and `);
  if ("any" in condition) return condition.any.length === 0 ? sql`false` : joined(condition.any, columns, sql` or `);
  return comparisonSql(columnOf(columns, condition.field), condition);
}

const joined = (conditions: readonly Condition[], columns: FilterColumns, by: RawBuilder<unknown>): Sql =>
  sql`(${sql.join(
    conditions.map((each) => conditionSql(each, columns)),
    by,
  )})`;

function columnOf(columns: FilterColumns, field: string): Expression<unknown> {
  const column = Object.hasOwn(columns, field) ? columns[field] : undefined;
  if (column === undefined) throw new Error(`The filterable field ${field} has no column.`);
  return typeof column === "string" ? sql.ref(column) : column;
}

const signs: Record<Exclude<Operator, "contains">, RawBuilder<unknown>> = {
  eq: sql`=`,
  neq: sql`is distinct from`,
  gt: sql`>`,
  gte: sql`>=`,
  lt: sql`<`,
  lte: sql`<=`,
};

function comparisonSql(column: Expression<unknown>, { kind, operator, value }: Comparison): Sql {
  if (value === null) return operator === "eq" ? sql`${column} is null` : sql`${column} is not null`;
  if (operator === "contains") return sql`strpos(lower(${column}), lower(${value}::text)) > 0`;
  const sign = signs[operator];
  switch (kind) {
    case "string":
      // The digits are checked first: a text that is no number must not fail the whole statement.
      return typeof value === "number"
        ? sql`case when ${column} ~ '^[0-9]{1,15}$' then ${column}::int8 ${sign} ${numberSql(value)} else false end`
        : sql`${column} ${sign} ${value}::text`;
    case "number":
      return sql`${column} ${sign} ${numberSql(value as number)}`;
    case "boolean":
      return sql`${column} ${sign} ${value}::boolean`;
    case "date":
      return dateSql(column, operator, value as number);
  }
}

/** An integer column uses its index only if it is compared with an integer. */
const numberSql = (value: number): RawBuilder<unknown> =>
  Number.isSafeInteger(value) ? sql`${value}::int8` : sql`${value}::numeric`;

/**
 * Dates are shown to the second but stored more finely. A caller compares what was shown, so `+lte` with a row's own
 * date must find the row. Written as ranges of the column, which an index can serve.
 */
function dateSql(column: Expression<unknown>, operator: Exclude<Operator, "contains">, seconds: number): Sql {
  const from = sql`to_timestamp(${Math.ceil(seconds)}::float8)`;
  const next = sql`to_timestamp(${Math.floor(seconds) + 1}::float8)`;
  const within = sql<SqlBool>`(${column} >= ${from} and ${column} < ${next})`;
  const ranges: Record<typeof operator, Sql> = {
    eq: within,
    neq: sql`${within} is not true`,
    gt: sql`${column} >= ${next}`,
    gte: sql`${column} >= ${from}`,
    lt: sql`${column} < ${from}`,
    lte: sql`${column} < ${next}`,
  };
  return ranges[operator];
}
