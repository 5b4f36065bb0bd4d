import { randomBytes, randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Db } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import type { SealedColumn } from "#platform/db/sealed-column.ts";

type Row = Record<string, unknown>;
const at = new Date("2026-01-01T00:00:00Z");
const later = new Date("2100-01-01T00:00:00Z");
const account = (n: number): number => 1 + (n % 97);

/** Rows of each table that has sealed columns, without them. Two numbers make two keys. */
const rowOf: Record<string, (n: number) => Row> = {
  auth_records: () => ({ model: "Session", key_sha256: randomBytes(32), expires_at: later }),
  signing_keys: (n) => ({ id: `key-${n}`, created_at: at }),
  databases: (n) => ({
    account_id: account(n),
    id: 1_000_000 + n,
    label: `db-${n}`,
    engine_version: "mysql/9",
    region: "r",
    plan: "p",
    cluster_size: 1,
    replication_type: "none",
    encrypted: true,
    ssl_connection: true,
    allow_list: [],
    status: "active",
    updates: "{}",
    created_at: at,
    updated_at: at,
  }),
  archives: (n) => ({ account_id: account(n), database_id: 1_000_000 + n, recipient: "age1" }),
  keyrings: (n) => ({ account_id: account(n), node_id: randomUUID(), reported_at: at }),
  clusters: (n) => ({ account_id: account(n), database_id: 1_000_000 + n }),
  users: (n) => ({
    account_id: account(n),
    id: 1_000_000 + n,
    username: `sealed-${n}`,
    email: `sealed-${n}@test.example`,
    restricted: false,
    created_at: at,
  }),
  mails: (n) => ({ id: 1_000_000 + n, created_at: at, due_at: later }),
  transfers: (n) => ({
    account_id: account(n),
    id: 1_000_000 + n,
    token_sha256: randomBytes(32),
    computes: [],
    created_at: at,
    updated_at: at,
    expires_at: later,
  }),
};

export type SealedValue = { column: SealedColumn; row: Row; plain: string };

/** So many rows in each table, without the rows that they refer to. Returns every sealed value. */
export async function fillSealed(
  db: Db,
  sealer: Sealer,
  columns: readonly SealedColumn[],
  each: number,
): Promise<SealedValue[]> {
  const values: SealedValue[] = [];
  for (const [table, columnsOfTable] of Map.groupBy(columns, (column) => column.table)) {
    const make = rowOf[table];
    // The one row of the installation exists.
    if (table === "installation") continue;
    if (make === undefined) throw new Error(`A column of ${table} is sealed, and no row of it is made here.`);
    for (let from = 0; from < each; from += 500) {
      const rows = Array.from({ length: Math.min(500, each - from) }, (_, n) => {
        const row = make(from + n);
        const sealed = columnsOfTable.map((column) => {
          const plain = `secret ${from + n} of ${column.column}`;
          values.push({ column, row, plain });
          return [column.column, sealer.seal(column.placeOf(row), plain)];
        });
        return { ...row, ...(Object.fromEntries(sealed) as Row) };
      });
      await db.transaction().execute(async (tx) => {
        await sql`set local session_replication_role = replica`.execute(tx);
        await tx.insertInto(table).values(rows).execute();
      });
    }
  }
  return values;
}

export const keyIs = ({ key }: SealedColumn, row: Row) =>
  sql.join(
    key.map((name) => sql`${sql.ref(name)} = ${row[name]}`),
    sql` and `,
  );

/** The columns of all tables in which this text occurs anywhere. */
export async function columnsWith(db: Db, text: string): Promise<string[]> {
  const { rows } = await sql<{ table: string; column: string }>`
    select columns.table_name as table, column_name as column from information_schema.columns
    join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' and data_type in ('text', 'jsonb', 'ARRAY')
    order by 1, 2`.execute(db);
  const found: string[] = [];
  for (const { table, column } of rows) {
    const has = await sql`
      select from ${sql.table(table)} where strpos(${sql.ref(column)}::text, ${text}) > 0 limit 1`.execute(db);
    if (has.rows.length > 0) found.push(`${table}.${column}`);
  }
  return found;
}
