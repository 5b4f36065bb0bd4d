import { type OrderByExpression, type SelectQueryBuilder, sql } from "kysely";
import { invalid } from "#platform/errors.ts";
import { type Filter, type FilterColumns, orderOf, whereOf } from "#platform/filter/filter.ts";
import { texts } from "./texts.ts";

export type PageRequest = { page: number; pageSize: number };
export type Page<Item> = { data: Item[]; page: number; pages: number; results: number };

export function readPage(query: Record<string, unknown>): PageRequest {
  return {
    page: whole("page", query["page"], 1, 1, Number.MAX_SAFE_INTEGER / 500),
    pageSize: whole("page_size", query["page_size"], 100, 25, 500),
  };
}

function whole(field: string, value: unknown, otherwise: number, least: number, most: number): number {
  if (value === undefined) return otherwise;
  const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw invalid(field, texts.pageOutOfRange(most > 500 ? { least } : { least, most }));
}

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

export const offsetOf = ({ page, pageSize }: PageRequest): number => (page - 1) * pageSize;

export const toPage = <Item>({ page, pageSize }: PageRequest, results: number, data: Item[]): Page<Item> => ({
  data,
  page,
  pages: Math.max(1, Math.ceil(results / pageSize)),
  results,
});
