import { sql } from "kysely";
import { prefixOf, type Sealer } from "#platform/seal.ts";
import type { Db } from "./database.ts";
import type { SealedColumn } from "./sealed-column.ts";

const BATCH = 500;

type Deps = { db: Db; sealer: Sealer };
type Found = Record<string, unknown> & { at: string; sealed: string };
/** `damaged`: rows whose value does not open. They keep it. */
export type Rewrapped = { rewrapped: number; damaged: string[]; isUnfinished: boolean };

/**
 * Rewraps the values of former keys, in short transactions, until there are no more or the time is over. It can end
 * after any of them, and be repeated: it finds the values that are left by their prefix. A row that somebody else
 * changes meanwhile is skipped, so that no change is overwritten; the next call finds it if it is still of a former key.
 */
export async function rewrapAll(
  deps: Deps,
  columns: readonly SealedColumn[],
  { isOver, batch = BATCH }: { isOver: () => boolean; batch?: number },
): Promise<Rewrapped> {
  const sum: Rewrapped = { rewrapped: 0, damaged: [], isUnfinished: false };
  for (const column of columns) {
    let after: readonly unknown[] | undefined;
    do {
      // A call that only looked for values goes on: otherwise large tables would hide those that come after them.
      if (isOver() && sum.rewrapped > 0) return { ...sum, isUnfinished: true };
      const done = await rewrapBatch(deps, column, after, batch);
      sum.rewrapped += done.rewrapped;
      sum.damaged.push(...done.damaged);
      after = done.last;
    } while (after !== undefined);
  }
  return sum;
}

type Batch = Omit<Rewrapped, "isUnfinished"> & { last: readonly unknown[] | undefined };

const rewrapBatch = (
  { db, sealer }: Deps,
  column: SealedColumn,
  after: readonly unknown[] | undefined,
  most: number,
): Promise<Batch> =>
  db.transaction().execute(async (tx) => {
    const key = sql.join(column.key.map((name) => sql.ref(name)));
    const value = sql.ref(column.column);
    const isFormer = sealer.keys.former.map((id) => sql`starts_with(${value}, ${prefixOf(id)})`);
    if (isFormer.length === 0) return { rewrapped: 0, damaged: [], last: undefined };
    const { rows } = await sql<Found>`
      select ctid::text as at, ${value} as sealed, ${sql.join([...column.key, ...column.also].map((name) => sql.ref(name)))}
      from ${sql.table(column.table)} where (${sql.join(isFormer, sql` or `)})
        and ${after === undefined ? sql`true` : sql`(${key}) > (${sql.join(after)})`}
      order by ${key} limit ${most} for no key update skip locked`.execute(tx);
    const damaged: string[] = [];
    const written = rows.flatMap((row) => {
      try {
        return [{ at: row.at, after: sealer.rewrap(column.placeOf(row), row.sealed) }];
      } catch {
        damaged.push(`${nameOf(column)} of ${keyOf(column, row).map(textOf).join("/")}`);
        return [];
      }
    });
    const [ats, afters] = [written.map(({ at }) => at), written.map((each) => each.after)];
    if (written.length > 0)
      await column
        .write(
          sql`given.after from unnest(${ats}::tid[], ${afters}::text[]) as given (at, after) where ctid = given.at`,
        )
        .execute(tx);
    const last = rows.length < most ? undefined : rows.at(-1);
    return { rewrapped: written.length, damaged, last: last && keyOf(column, last) };
  });

const keyOf = ({ key }: SealedColumn, row: Found): unknown[] => key.map((name) => row[name]);
const textOf = (part: unknown): string => (Buffer.isBuffer(part) ? part.toString("hex") : String(part));

export const nameOf = ({ table, column }: SealedColumn): string => `${table}.${column}`;

/** What needs a key. `key` is null if that is not known. */
export type KeyUse = { by: string; key: string | null; count: number };

/** How many values of each column are sealed under each key. */
export async function countSealed(db: Db, columns: readonly SealedColumn[]): Promise<KeyUse[]> {
  const uses: KeyUse[] = [];
  for (const column of columns) {
    const value = sql.ref(column.column);
    const { rows } = await sql<Omit<KeyUse, "by">>`
      select split_part(${value}, '.', 2) as key, count(*) as count from ${sql.table(column.table)}
      where ${value} is not null group by 1 order by 1`.execute(db);
    uses.push(...rows.map((row) => ({ by: nameOf(column), ...row })));
  }
  return uses;
}
