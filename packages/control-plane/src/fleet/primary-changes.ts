import type { PrimaryChange } from "@moorage/contract/agent";
import { sql } from "kysely";
import type { Tx } from "#platform/db/database.ts";
import type { HostRow } from "./host-store.ts";

/** Number of a group's changes to compare with: a host reports its own within seconds, or all of an outage at once. */
const COMPARED = 50;

type Known = {
  from_node: string | null;
  to_node: string;
  at: Date;
  /** By the host that reported it. */
  reports: Readonly<Record<string, { at: string }>>;
};
type ChangeReport = Pick<PrimaryChange, "from" | "to" | "at"> & { host: string };

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

/**
 * Finds the known change of a group that a host reports; undefined: a new one. Each host reports a change once, at its
 * own time, however late its proxy followed, and its group view may have advanced by then. So two reports describe one
 * change if they go from the same member to the same member and no other member was primary in between.
 */
export function sameChange<Change extends Known>(known: readonly Change[], report: ChangeReport): Change | undefined {
  const alike = known.filter(({ from_node, to_node }) => to_node === report.to && isSameFrom(from_node, report.from));
  return (
    alike.find(({ reports }) => reports[report.host]?.at === report.at) ??
    alike.find((change) => change.reports[report.host] === undefined && !isBetween(known, change, report))
  );
}

/** A gatekeeper that has just started does not know the previous primary. */
const isSameFrom = (known: string | null, reported: string | undefined): boolean =>
  known === null || reported === undefined || known === reported;

function isBetween(known: readonly Known[], change: Known, report: ChangeReport): boolean {
  const [first, last] = [change.at.getTime(), new Date(report.at).getTime()].toSorted((a, b) => a - b) as [
    number,
    number,
  ];
  return known.some(({ to_node, at }) => to_node !== report.to && at.getTime() > first && at.getTime() < last);
}

/** The tenant has an event about the change. `lost`: how many transactions; null if that is unknown. */
export const markNotified = (
  tx: Tx,
  change: { account_id: number; id: number },
  notified: { event_id: number; operation_id: number | null; lost: number | null },
): Promise<unknown> =>
  tx
    .updateTable("primary_changes")
    .set(notified)
    .where("account_id", "=", change.account_id)
    .where("id", "=", change.id)
    .execute();
