import { sql } from "kysely";
import { type NodeRow, SILENT_AFTER_MS } from "#fleet/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../model/database-store.ts";
import { restore } from "../timelines/restore-change.ts";

export type Key = Pick<DatabaseRow, "account_id" | "id">;
/** `since`: when the control plane came up. */
type Moment = { now: Date; since: Date };
export type LostHost = { name: string; dead: boolean; silentSeconds: number; seenAt: Date | null };

/**
 * Databases of one node whose host is dead or silent, or whose server does not answer, and those of which that may have
 * been true: degraded ones, and suspended ones without a node.
 */
export async function findAffected(db: Db, { now, since, most }: Moment & { most: number }): Promise<Key[]> {
  const silentSince = new Date(now.getTime() - SILENT_AFTER_MS);
  // For as long as a host may be silent after our start, only dead ones count.
  const silent = since > silentSince ? null : silentSince;
  const { rows } = await sql<Key>`
    select databases.account_id, databases.id
    from hosts
    left join host_leases on host_leases.host_id = hosts.id
    join nodes on nodes.host_id = hosts.id and nodes.released_at is null and nodes.replaced_at is null
    join databases on databases.account_id = nodes.account_id and databases.id = nodes.database_id
    where (hosts.state = 'dead' or hosts.state = 'active' and host_leases.seen_at <= ${silent}::timestamptz)
      and databases.deleted_at is null and databases.cluster_size = 1 and databases.status <> 'failed'
    union
    select databases.account_id, databases.id from nodes
    join databases on databases.account_id = nodes.account_id and databases.id = nodes.database_id
    where nodes.unresponsive and nodes.released_at is null and nodes.replaced_at is null
      and databases.deleted_at is null and databases.cluster_size = 1 and databases.status = 'active'
    union
    select account_id, id from databases
    where deleted_at is null and cluster_size = 1 and status in ('degraded', 'suspended')
      and (status = 'degraded' or not exists (
        select from nodes where nodes.account_id = databases.account_id and nodes.database_id = databases.id
          and nodes.released_at is null and nodes.replaced_at is null))
    order by id
    limit ${most}`.execute(db);
  return rows;
}

export async function observeHost(tx: Tx, node: NodeRow, { now, since }: Moment): Promise<LostHost> {
  const { name, state, seen_at } = await tx
    .selectFrom("hosts")
    .leftJoin("host_leases", "host_leases.host_id", "hosts.id")
    .select(["hosts.name", "hosts.state", "host_leases.seen_at"])
    .where("hosts.id", "=", node.host_id)
    .executeTakeFirstOrThrow();
  const lastSeen = Math.max(seen_at?.getTime() ?? 0, since.getTime());
  return { name, dead: state === "dead", silentSeconds: (now.getTime() - lastSeen) / 1000, seenAt: seen_at };
}

/** `kinds`: of the operations on databases. */
export const openOperationOf = (tx: Tx, { account_id, id }: DatabaseRow, kinds: readonly string[]) =>
  tx
    .selectFrom("operations")
    .select(["id", "kind", "input"])
    .where("account_id", "=", account_id)
    .where("entity_id", "=", id)
    .where("kind", "in", kinds)
    .where("settled_at", "is", null)
    .executeTakeFirst();

/** Undefined: the last restore elsewhere did not fail, or there was none. */
export async function secondsSinceFailure(
  tx: Tx,
  { account_id, id }: DatabaseRow,
  now: Date,
): Promise<number | undefined> {
  const last = await tx
    .selectFrom("operations")
    .select(["settled_at", "outcome"])
    .where("account_id", "=", account_id)
    .where("entity_id", "=", id)
    .where("kind", "=", restore.kind)
    .where(sql<boolean>`input ? 'elsewhere'`)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  if (last === undefined || last.settled_at === null || last.outcome !== "failed") return undefined;
  return (now.getTime() - last.settled_at.getTime()) / 1000;
}

/** For the operator: of these databases, those whose host is silent or dead, and how their last restore elsewhere ended. */
export async function findWithoutHost(db: Db, ids: readonly number[], now: Date) {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: number; host: string | null; dead: boolean; failure: string | null }>`
    select databases.id, hosts.name as host, hosts.id is null or hosts.state = 'dead' as dead, last.message as failure
    from databases
    left join nodes on nodes.account_id = databases.account_id and nodes.database_id = databases.id
      and nodes.released_at is null and nodes.replaced_at is null
    left join hosts on hosts.id = nodes.host_id
    left join host_leases on host_leases.host_id = hosts.id
    left join lateral (
      select case outcome when 'failed' then message end as message from operations
      where account_id = databases.account_id and entity_id = databases.id and kind = ${restore.kind}
        and input ? 'elsewhere' order by operations.id desc limit 1
    ) last on true
    where databases.id in (${sql.join(ids)}) and databases.cluster_size = 1 and databases.status = 'degraded'
      and (hosts.id is null or hosts.state = 'dead'
        or host_leases.seen_at <= ${new Date(now.getTime() - SILENT_AFTER_MS)}::timestamptz)`.execute(db);
  return rows;
}
