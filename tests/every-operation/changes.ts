import { sql } from "kysely";
import type { World } from "../../packages/control-plane/src/testing/world.ts";
import { tablesOf } from "./record.ts";

type Row = Record<string, unknown>;
type Rows = Map<string, Row>;
/** `shape`: which columns of which table changed. `rights`: the values that decide who may do what. */
export type Change = { shape: string; rights: Row; row: Row };

/** Every row of every table, by its physical location. */
export async function rowsOf(world: World): Promise<Rows> {
  const all: Rows = new Map();
  for (const name of await tablesOf(world)) {
    const { rows } = await sql<{ key: string; row: Row }>`
      select coalesce(r.j ->> 'id', r.j ->> 'seq', (r.j ->> 'account_id') || (r.j ->> 'day'), md5(r.j::text)) as key, r.j as row
      from (select to_jsonb(t) as j from ${sql.table(name)} t) r`.execute(world.db);
    for (const { key, row } of rows) all.set(`${name} ${key}`, row);
  }
  return all;
}

const rightsOf = ({ status, scopes, restricted, global_grants, permission }: Row): Row => ({
  status,
  scopes,
  restricted,
  global_grants,
  permission,
});

/** What was written, in an order that does not depend on ids. */
export function changesBetween(before: Rows, after: Rows): Change[] {
  const changes = [...after].flatMap(([place, row]): Change[] => {
    const old = before.get(place);
    const table = place.split(" ")[0] ?? "";
    const columns = Object.keys(row).filter((name) => JSON.stringify(row[name]) !== JSON.stringify(old?.[name]));
    if (columns.length === 0) return [];
    const shape = old === undefined ? `${table}: a new row` : `${table}: ${columns.toSorted().join(" ")}`;
    return [{ shape, rights: rightsOf(row), row }];
  });
  const gone = [...before.keys()].filter((place) => !after.has(place));
  return [
    ...changes.toSorted((a, b) => (a.shape < b.shape ? -1 : 1)),
    ...gone.map((place) => ({ shape: `${place.split(" ")[0]}: a row gone`, rights: {}, row: {} })),
  ];
}
