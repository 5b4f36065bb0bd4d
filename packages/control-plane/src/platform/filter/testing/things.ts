import { toTimestamp } from "@moorage/contract";
import { type Kysely, type SelectQueryBuilder, sql } from "kysely";
import type { Db } from "#platform/db/database.ts";
import type { Filter } from "../condition.ts";
import { inOrder, type Json, meets } from "./filter-oracle.ts";
import { orderOf, whereOf } from "../filter-sql.ts";

// A list for the tests, with fields of every kind.
export const fields = {
  id: "number",
  price: "number",
  label: "string",
  "entity.id": "string",
  public: "boolean",
  created: "date",
} as const;
const columns = {
  id: "things.id",
  price: sql.ref("price"),
  label: "label",
  "entity.id": "entity_id",
  public: "is_public",
  created: "created_at",
};

type Thing = {
  id: number;
  price: number | null;
  label: string | null;
  entity_id: string | null;
  is_public: boolean | null;
  created_at: Date | null;
};

export const start = Date.UTC(2026, 0, 31, 23, 59, 50);
export const labels = [
  "a",
  "A",
  "ab",
  "aB%",
  "a_b",
  "%",
  "_",
  "\\",
  "\\%",
  "'",
  "''; --",
  "é",
  "É",
  "😀",
  "～",
  "",
  "null",
  "10",
  "9",
];
export const entityIds = ["1", "2", "9", "10", "100", "12345678901234567890", "private/12", "1.5", "", "٣"];
export const prices = [0, 1, 1.5, -1, 0.1, 9_007_199_254_740_991, 12.25];

/** Few values, each in many rows and each beside null, so that random filters hit and miss. */
export const things: Thing[] = Array.from({ length: 200 }, (_, n) => ({
  id: n + 1,
  price: pick([...prices, null], n * 3),
  label: pick([...labels, null], n),
  entity_id: pick([...entityIds, null], n * 7 + (n >> 4)),
  is_public: pick([true, false, null], n + (n >> 3)),
  created_at: n % 11 === 0 ? null : new Date(start + Math.floor(n / 10) * 1000 + (n % 3) * 400),
}));
function pick<T>(from: readonly T[], n: number): T {
  return from[n % from.length] as T;
}

/** As a caller sees them: dates to the second. */
const shown = things.map(({ id, price, label, entity_id, is_public, created_at }) => ({
  id,
  price,
  label,
  "entity.id": entity_id,
  public: is_public,
  created: created_at === null ? null : toTimestamp(created_at),
}));
// Below a second the order follows the stored value, not the shown one.
const kept = shown.map((row, n) => ({ ...row, created: things[n]?.created_at?.toISOString() ?? null }));

export const expected = (filter: Json): number[] => {
  const ids = new Set(shown.filter((row) => meets(row, filter)).map(({ id }) => id));
  return inOrder(
    kept.filter(({ id }) => ids.has(id)),
    filter,
  ).map(({ id }) => id);
};

/** Creates a table of them, and returns a function that runs many filters in one statement. */
export async function createThings(owner: Db): Promise<(filters: readonly Filter[]) => Promise<number[][]>> {
  const types = sql`id bigint, price numeric, label text, entity_id text, is_public boolean, created_at timestamptz`;
  await sql`create table things (${types})`.execute(owner);
  const db = owner as unknown as Kysely<{ things: Thing }>;
  await db.insertInto("things").values(things).execute();

  const query = (filter: Filter): SelectQueryBuilder<{ things: Thing }, "things", { id: number }> => {
    const found = db.selectFrom("things").select("id").where(whereOf(filter, columns));
    const order = orderOf(filter, columns);
    return (order === undefined ? found : found.orderBy(order.column, order.direction)).orderBy("id");
  };
  return async (filters) => {
    const lists = sql.join(filters.map((filter) => sql`array${query(filter)}`));
    const { rows } = await sql<{ found: number[][] }>`select json_build_array(${lists}) as found`.execute(db);
    return (rows[0] as { found: number[][] }).found;
  };
}
