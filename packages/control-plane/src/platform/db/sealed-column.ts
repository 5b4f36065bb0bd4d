import type { RawBuilder, Selectable } from "kysely";
import type { Tables } from "./tables.ts";

type Row<Table extends keyof Tables> = Selectable<Tables[Table]>;
type Name<Table extends keyof Tables> = keyof Row<Table> & string;

/** A column that holds sealed values, as its owner declares it: `moorage admin keys rotate` rewraps what is in it. */
export type SealedColumn = {
  table: keyof Tables;
  column: string;
  /** The primary key, and the other columns that the place is made of. */
  key: readonly string[];
  also: readonly string[];
  placeOf(row: object): readonly (string | number)[];
  /** `update TABLE set COLUMN = ${given}`: `given` has the values, and the rows that get them. */
  write(given: RawBuilder<unknown>): RawBuilder<unknown>;
};

type Declared<Table extends keyof Tables, Read extends Name<Table>> = {
  table: Table;
  column: Name<Table>;
  key: readonly Read[];
  also?: readonly Read[];
  placeOf(row: Pick<Row<Table>, Read>): readonly (string | number)[];
  write(given: RawBuilder<unknown>): RawBuilder<unknown>;
};

/** Checks the names and the types of the columns, which a list of columns of several tables cannot. */
export const sealedColumn = <Table extends keyof Tables, Read extends Name<Table>>(
  declared: Declared<Table, Read>,
): SealedColumn => ({ also: [], ...declared });
