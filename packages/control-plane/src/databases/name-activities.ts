import { sql } from "kysely";
import { findHost, findNodes } from "#fleet/index.ts";
import type { Names } from "#names/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import { hasDatabase } from "./database-store.ts";
import { recordSetsOf } from "./name-records.ts";

export type NameDeps = { db: Db; clock: Clock; names: Names; zone: string };
type Key = { account_id: number; id: number };

const keyOf = async (db: Db, operationId: number): Promise<Key> => {
  const { account_id, entity_id } = await findOperation(db, operationId);
  return { account_id, id: entity_id };
};

/** The steps of a database's workflows that speak to the name server. Each states the whole, so it can be repeated. */
export const createNameActivities = (deps: NameDeps) => ({
  publishNames: async (operationId: number): Promise<void> => publish(deps, await keyOf(deps.db, operationId)),
  withdrawNames: async (operationId: number): Promise<void> => withdraw(deps, await keyOf(deps.db, operationId)),
});
export type NameActivities = ReturnType<typeof createNameActivities>;

/** An attempt that was given up may still be under way, and come after the withdrawal: so it looks again at its end. */
async function publish(deps: NameDeps, { account_id, id }: Key): Promise<void> {
  const { db, names, zone } = deps;
  const hosts = [];
  for (const node of await findNodes(db, account_id, id)) hosts.push(await findHost(db, node.host_id));
  await names.state(recordSetsOf(id, hosts, zone));
  if (!(await hasDatabase(db, account_id, id))) await withdraw(deps, { account_id, id });
}

async function withdraw({ db, names, zone }: NameDeps, key: Key): Promise<void> {
  await names.state(recordSetsOf(key.id, [], zone));
  await setNamed(db, key, null);
}

const setNamed = (db: Db, { account_id, id }: Key, named_at: Date | null): Promise<unknown> =>
  db
    .updateTable("databases")
    .set({ named_at })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .where("deleted_at", named_at === null ? "is not" : "is", null)
    .execute();

/**
 * Databases whose names are not as they should be, and no workflow will see to it: made before there were names, written
 * again by a recovery, or deleted without the name server's word.
 */
export const createNamesChore = (deps: NameDeps) => async (): Promise<void> => {
  const { db, clock } = deps;
  const found = await db
    .selectFrom("databases")
    .select(["account_id", "id", "deleted_at"])
    .where(sql<boolean>`(deleted_at is null) = (named_at is null)`)
    .where((is) => is.or([is("deleted_at", "is not", null), is("status", "in", ["active", "degraded"])]))
    .limit(100)
    .execute();
  for (const key of found) {
    if (key.deleted_at !== null) await withdraw(deps, key);
    else {
      await publish(deps, key);
      await setNamed(db, key, clock());
    }
  }
};
