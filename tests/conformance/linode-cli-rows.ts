export type Row = Record<string, unknown>;
/** Runs a command, and returns what it prints. */
export type Cli = (...args: string[]) => Promise<Row[]>;
/** The same with output for people. */
export type PlainCli = (...args: string[]) => Promise<string>;

export const lacks = (key: string, value: unknown) => (rows: Row[]) =>
  rows.some((row) => row[key] === value) ? undefined : `no ${key} ${String(value)} among ${rows.length}`;

export const oneOf = (rows: Row[]): Row => {
  if (rows.length !== 1) throw new Error(`${rows.length} rows instead of one`);
  return rows[0] as Row;
};

/** The fault of a row that should have these fields, if there is one. */
export const differs = (fields: Row) => (row: Row) =>
  Object.entries(fields).every(([name, value]) => row[name] === value) ? undefined : JSON.stringify(row);
