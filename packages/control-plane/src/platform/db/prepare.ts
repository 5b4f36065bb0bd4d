import type { CompiledQuery } from "kysely";
import { type Db, poolOf } from "./database.ts";

/** Stands for an argument while the statement is built. */
class Slot {
  readonly at: number;
  constructor(at: number) {
    this.at = at;
  }
}

/**
 * A statement that is built once and prepared by name on each connection: for what every request runs. It must name its
 * columns, because a prepared `select *` fails from the moment that a migration adds one.
 */
export function prepare<Args extends readonly unknown[], Row>(
  name: string,
  build: (db: Db, ...args: Args) => { compile(): CompiledQuery<Row> },
): (db: Db, ...args: Args) => Promise<Row[]> {
  let compiled: CompiledQuery<Row> | undefined;
  return async (db, ...args) => {
    compiled ??= build(db, ...(args.map((_, at) => new Slot(at)) as unknown as Args)).compile();
    const values = compiled.parameters.map((value) => (value instanceof Slot ? args[value.at] : value));
    const { rows } = await poolOf(db).query({ name, text: compiled.sql, values });
    return rows as Row[];
  };
}
