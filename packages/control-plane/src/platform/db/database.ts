import { step } from "@moorage/crash-points";
import { Kysely, PostgresDialect, type Transaction } from "kysely";
import pg from "pg";
import type { Tables } from "./tables.ts";

export type Db = Kysely<Tables>;
export type Tx = Transaction<Tables>;

// Integers of this project stay under 2^53, and money is never numeric: both are plain numbers here.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number);
// The type of bigint arrays, which the library does not name; none of ours contains null.
const INT8_LIST = 1016;
const types: { setTypeParser(oid: number, parse: (text: string) => number[]): void } = pg.types;
types.setTypeParser(INT8_LIST, (text) => JSON.parse(`[${text.slice(1, -1)}]`) as number[]);
// A day is not a moment: it stays text.
pg.types.setTypeParser(pg.types.builtins.DATE, String);

/** How long to wait for a connection: callers have given up by then. */
const PATIENCE_MS = 15_000;

/** Of each process. */
export const CONNECTIONS = 20;

/** How long PostgreSQL works on one statement, and waits for one lock. Without them, without end. */
export type Timeouts = { statementMs?: number; lockMs?: number };

export function createPool(
  url: string,
  max = CONNECTIONS,
  { statementMs, lockMs, patienceMs = PATIENCE_MS }: Timeouts & { patienceMs?: number } = {},
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: patienceMs,
    ...(statementMs === undefined ? {} : { statement_timeout: statementMs }),
    ...(lockMs === undefined ? {} : { lock_timeout: lockMs }),
  });
  // A connection that dies while in use fails its query; without a listener it would end the process too.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

const pools = new WeakMap<Db, pg.Pool>();

export function createDb(pool: pg.Pool): Db {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  pools.set(db, pool);
  return db;
}

/** For statements without the query builder: see prepare.ts. */
export function poolOf(db: Db): pg.Pool {
  const pool = pools.get(db);
  if (pool === undefined) throw new Error("A transaction has no pool: a prepared statement would run outside of it.");
  return pool;
}

/** One transaction, as one step: a test can kill the process before it or after its commit. */
export const transact = <T>(db: Db, name: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
  step(name, () => db.transaction().execute(work));
