import type { PrimaryChange } from "@moorage/contract/agent";
import { sql } from "kysely";
import type { Tx } from "#platform/db/database.ts";
import type { HostRow } from "./host-store.ts";
import { sameChange } from "./same-change.ts";

/** Number of a group's changes to compare with: a host reports its own within seconds, or all of an outage at once. */
const COMPARED = 50;

/**
 * Stores a change of primary as one of the cluster's hosts saw it. The first report creates the row, other hosts add
 * when their proxies followed, and a repeated report changes nothing. The worker decides what follows from it.
 */
export async function storeChange(tx: Tx, host: HostRow, reported: PrimaryChange, now: Date): Promise<void> {
  const owner = await ownerOf(tx, host.id, reported);
  if (owner === undefined) return;
  const { account_id, database_id } = owner;
  // The new row will reference the database. A health check of the cluster locks the database first, too.
  await tx
    .selectFrom("databases")
    .select("id")
    .where("account_id", "=", account_id)
    .where("id", "=", database_id)
    .forKeyShare()
    .execute();
  // Serialises two hosts that report at the same time.
  await tx.updateTable("clusters").set({ check_at: now }).where("database_id", "=", database_id).execute();
  const known = await tx
    .selectFrom("primary_changes")
    .selectAll()
    .where("account_id", "=", account_id)
    .where("database_id", "=", database_id)
    .where("group_id", "=", reported.group)
    .orderBy("id", "desc")
    .limit(COMPARED)
    .execute();
  const same = sameChange(known, { ...reported, host: host.name });
  const ownReport = { [host.name]: { at: reported.at, ...reported.phases } };
  if (same === undefined)
    await tx
      .insertInto("primary_changes")
      .values({
        account_id,
        database_id,
        group_id: reported.group,
        view: reported.view,
        from_node: reported.from ?? null,
        to_node: reported.to,
        operation_id: null,
        at: new Date(reported.at),
        gtid_before: reported.gtid_before ?? null,
        gtid_after: reported.gtid_after ?? null,
        reports: JSON.stringify(ownReport),
        lost: null,
        event_id: null,
      })
      .execute();
  else if (same.reports[host.name] === undefined)
    await tx
      .updateTable("primary_changes")
      .set({
        reports: JSON.stringify({ ...same.reports, ...ownReport }),
        from_node: same.from_node ?? reported.from ?? null,
        gtid_before: same.gtid_before ?? reported.gtid_before ?? null,
        gtid_after: same.gtid_after ?? reported.gtid_after ?? null,
      })
      .where("account_id", "=", account_id)
      .where("id", "=", same.id)
      .execute();
}

/** Only a host of the cluster may report a change, and only between members of that cluster. */
function ownerOf(tx: Tx, hostId: number, { node, from, to }: PrimaryChange) {
  const named = [...new Set([to, ...(from === undefined ? [] : [from])])];
  return tx
    .selectFrom("nodes")
    .select(["account_id", "database_id"])
    .where("id", "=", node)
    .where("host_id", "=", hostId)
    .where("tombstoned", "=", false)
    .where(
      sql<boolean>`(select count(*) from members where members.database_id = nodes.database_id
        and members.node_id = any(${named}::uuid[])) = ${named.length}`,
    )
    .executeTakeFirst();
}
