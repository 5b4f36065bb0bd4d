import { type Selectable, sql, type Updateable } from "kysely";
import { releaseReplaced, SILENT_AFTER_MS } from "#fleet/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

type Key = { account_id: number; id: number };

export const lockCluster = (tx: Tx, { account_id, id }: Key): Promise<Selectable<Tables["clusters"]>> =>
  tx
    .selectFrom("clusters")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .forUpdate()
    .executeTakeFirstOrThrow();

export const saveCluster = (
  tx: Tx,
  { account_id, id }: Key,
  change: Pick<Updateable<Tables["clusters"]>, "check_at" | "degraded_since" | "tenant_message" | "advice">,
): Promise<unknown> =>
  tx.updateTable("clusters").set(change).where("account_id", "=", account_id).where("database_id", "=", id).execute();

/** Makes the next round check the cluster. */
export const checkSoon = (tx: Tx, key: Key, now: Date): Promise<unknown> => saveCluster(tx, key, { check_at: now });

/** A silent host sends no report that would cause a check. */
export const checkSilent = (db: Db, now: Date): Promise<unknown> =>
  sql`
    update clusters set check_at = ${now}
    from nodes, hosts left join host_leases on host_leases.host_id = hosts.id, members, databases
    where clusters.check_at is null
      and nodes.account_id = clusters.account_id and nodes.database_id = clusters.database_id
      and nodes.released_at is null and hosts.id = nodes.host_id
      and (hosts.state = 'dead' or host_leases.seen_at < ${new Date(now.getTime() - SILENT_AFTER_MS)})
      and members.node_id = nodes.id and members.replaced_at is null
      and databases.account_id = clusters.account_id and databases.id = clusters.database_id
      and databases.deleted_at is null and databases.powered and databases.status <> 'failed'`.execute(db);

/** Dead hosts will not confirm that their nodes are gone. */
export async function releaseFromDead(db: Db, now: Date): Promise<void> {
  const dead = await db
    .selectFrom("members")
    .innerJoin("nodes", "nodes.id", "members.node_id")
    .innerJoin("hosts", "hosts.id", "nodes.host_id")
    .select("nodes.id")
    .where("members.replaced_at", "is not", null)
    .where("nodes.released_at", "is", null)
    .where("nodes.tombstoned", "=", true)
    .where("hosts.state", "=", "dead")
    .limit(100)
    .execute();
  for (const { id } of dead) await db.transaction().execute((tx) => releaseReplaced(tx, id, now));
}
