import { type Insertable, type Selectable, sql, type Updateable } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { SILENT_AFTER_MS } from "./placement.ts";

type Key = { account_id: number; id: number };

/** Repeatable: an existing cluster stays as it is. Its secrets are sealed. */
export const insertCluster = (
  tx: Tx,
  { account_id, id }: Key,
  secrets: Pick<Insertable<Tables["clusters"]>, "group_password" | "authority">,
): Promise<unknown> =>
  tx
    .insertInto("clusters")
    .values({ account_id, database_id: id, ...secrets })
    .onConflict((conflict) => conflict.column("database_id").doNothing())
    .execute();

/** The database has other members than before: a list with a higher number is the later one. */
export const raiseMembersVersion = (tx: Tx, { account_id, id }: Key): Promise<unknown> =>
  tx
    .updateTable("clusters")
    .set(({ eb }) => ({ members_version: eb("members_version", "+", 1) }))
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .execute();

/** A recovery found a later list on a host. */
export const setMembersVersion = (tx: Tx, { account_id, id }: Key, version: number): Promise<unknown> =>
  tx
    .updateTable("clusters")
    .set({ members_version: version })
    .where("account_id", "=", account_id)
    .where("database_id", "=", id)
    .execute();

/** The result of a health check, and when the next one is due. */
export const saveCheck = (
  tx: Tx,
  { account_id, id }: Key,
  change: Pick<Updateable<Tables["clusters"]>, "check_at" | "degraded_since" | "tenant_message" | "advice">,
): Promise<unknown> =>
  tx.updateTable("clusters").set(change).where("account_id", "=", account_id).where("database_id", "=", id).execute();

/** Makes the next round check the cluster. */
export const checkSoon = (tx: Tx, key: Key, now: Date): Promise<unknown> => saveCheck(tx, key, { check_at: now });

/** A silent host sends no report that would cause a check. */
export const checkSilent = (db: Db, now: Date): Promise<unknown> =>
  sql`
    update clusters set check_at = ${now}
    from nodes, hosts left join host_leases on host_leases.host_id = hosts.id, members, databases
    where clusters.check_at is null
      and nodes.account_id = clusters.account_id and nodes.database_id = clusters.database_id
      and nodes.released_at is null and hosts.id = nodes.host_id
      and (hosts.state = 'dead' or host_leases.seen_at < ${new Date(now.getTime() - SILENT_AFTER_MS)})
      and members.node_id = nodes.id and nodes.replaced_at is null
      and databases.account_id = clusters.account_id and databases.id = clusters.database_id
      and databases.deleted_at is null and databases.powered and databases.status <> 'failed'`.execute(db);

/** Repeatable: existing members stay as they are. */
export async function addMembers(
  tx: Tx,
  { account_id, id }: Key,
  nodes: readonly Pick<Selectable<Tables["nodes"]>, "id">[],
): Promise<void> {
  if (nodes.length === 0) return;
  await tx
    .insertInto("members")
    .values(nodes.map((node) => ({ account_id, node_id: node.id, database_id: id })))
    .onConflict((conflict) => conflict.column("node_id").doNothing())
    .execute();
}
