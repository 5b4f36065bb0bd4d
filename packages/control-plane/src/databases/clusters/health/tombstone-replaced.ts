import { sql } from "kysely";
import { amendDesired } from "#fleet/index.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { lockDatabase } from "../../model/database-store.ts";
import { wakeHosts } from "../../spec/desired-specs.ts";
import { replacement } from "./replace-activities.ts";

/** The steps at which a fault drill can kill the job. */
export const tombstoneSteps = ["worker.tombstone-replaced"] as const;

const BATCH = 100;

type Replaced = { account_id: number; database_id: number; id: string; host_id: number };

/**
 * Removes replaced members that nothing else removes: no list of a database's nodes has them, so that without a tombstone
 * they would keep their room for ever, also after the database was deleted. Older workers placed the replacement and
 * wrote the tombstone in two transactions, and a set-back database may lack the tombstone.
 */
export const createTombstonesJob = ({ db, eachDue }: { db: Db; eachDue: EachDue }) => {
  const each = eachDue("tombstones", "node");
  return async (): Promise<void> =>
    each.run(await findWithout(db, BATCH + each.skipped()), async (node) => {
      const toWake = await transact(db, tombstoneSteps[0], async (tx) => {
        await lockDatabase(tx, node.account_id, node.database_id);
        const operation = await replacementOf(tx, node);
        return amendDesired(tx, [node], (spec) => ({ ...spec, tombstone: { operation } }));
      });
      await wakeHosts(db, toWake);
    });
};

/** A node without a spec is on no host. */
const findWithout = (db: Db, most: number): Promise<Replaced[]> =>
  db
    .selectFrom("nodes")
    .select(["nodes.account_id", "nodes.database_id", "nodes.id", "nodes.host_id"])
    .where("nodes.replaced_at", "is not", null)
    .where("nodes.tombstoned", "=", false)
    .where("nodes.released_at", "is", null)
    .where("nodes.desired_spec", "is not", null)
    .orderBy("nodes.replaced_at")
    .limit(most)
    .execute();

/** The operation that replaced it: hosts record by whose order a node was removed. */
async function replacementOf(tx: Tx, { account_id, database_id, id }: Replaced): Promise<number> {
  const operation = await tx
    .selectFrom("operations")
    .select("id")
    .where("account_id", "=", account_id)
    .where("entity_id", "=", database_id)
    .where("kind", "=", replacement.kind)
    .where(sql<boolean>`input ->> 'node' = ${id}`)
    .orderBy("id", "desc")
    .executeTakeFirst();
  if (operation === undefined) throw new Error(`No operation replaced node ${id}.`);
  return operation.id;
}
