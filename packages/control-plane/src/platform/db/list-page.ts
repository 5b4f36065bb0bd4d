import { type OrderByExpression, type SelectQueryBuilder, sql } from "kysely";
import { type Filter, type FilterColumns, orderOf, whereOf } from "#platform/filter.ts";
import { offsetOf, type PageRequest } from "#platform/http/page.ts";

type List<DB, TB extends keyof DB> = {
  page: PageRequest;
  /** Without one: every row of the query. */
  filter?: Filter;
  /** The SQL of each filterable field. */
  columns?: FilterColumns;
  /** The order of rows that are otherwise equal, so that pages never overlap. */
  lastly: { by: OrderByExpression<DB, TB, object>; direction?: "asc" | "desc" };
};

const all: Filter = { where: undefined, order: undefined };

/** One page of a query's rows, filtered and ordered, and the total number of rows. */
export async function listPage<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  { page, filter = all, columns = {}, lastly }: List<DB, TB>,
): Promise<{ rows: Row[]; results: number }> {
  const found = query.where(whereOf(filter, columns));
  const order = orderOf(filter, columns);
  const ordered = order === undefined ? found : found.orderBy(order.column, order.direction);
  const rows = await ordered
    .orderBy(lastly.by as never, lastly.direction ?? "asc")
    .limit(page.pageSize)
    .offset(offsetOf(page))
    .execute();
  const counted = found.clearSelect().select(sql<number>`count(*)`.as("results")) as SelectQueryBuilder<
    DB,
    TB,
    { results: number }
  >;
  const [total] = await counted.execute();
  return { rows, results: total?.results ?? 0 };
}
