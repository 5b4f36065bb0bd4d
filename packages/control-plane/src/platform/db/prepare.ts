import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
} from "kysely";
import type pg from "pg";
import { type Db, poolOf } from "./database.ts";
import type { Tables } from "./tables.ts";

/** Builds statements without a database to run them on. */
const queries = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** Placeholder of an argument while the statement is built. */
class Slot {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

type Statement<Row> = { compile(): CompiledQuery<Row> } | RawBuilder<Row>;

/**
 * A statement that is built once and prepared by name on each connection: for what every request runs. It must name its
 * columns, because a prepared `select *` fails as soon as a migration adds one. `build` gets placeholders for the
 * arguments: it can put them into the statement, but not read their values.
 */
export function prepare<Args extends object, Row>(
  name: string,
  build: (db: Db, args: Args) => Statement<Row>,
): (on: Db | pg.PoolClient, args: Args) => Promise<Row[]> {
  const slots = new Proxy({} as Args, {
    get: (_target, key) => new Slot(String(key)),
    ownKeys: () => {
      throw new Error("Nobody knows yet which arguments there are: name each of them.");
    },
  });
  let compiled: CompiledQuery<Row> | undefined;
  return async (on, args) => {
    compiled ??= build(queries, slots).compile(queries);
    const values = compiled.parameters.map((value) => (value instanceof Slot ? args[value.name as keyof Args] : value));
    const { rows } = await ("release" in on ? on : poolOf(on)).query({ name, text: compiled.sql, values });
    return rows as Row[];
  };
}
