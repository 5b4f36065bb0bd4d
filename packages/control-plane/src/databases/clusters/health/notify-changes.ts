import { sql } from "kysely";
import { emit } from "#events/index.ts";
import { markNotified } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { DatabaseRow } from "../../model/database-store.ts";
import { entityOf } from "../../model/entity.ts";
import { isAsynchronous } from "../../model/database.ts";
import { conditionOf, type HealthSettings, type Judged, type ObservedMember } from "../member-condition.ts";
import { type ChangeRow, type Loss, lossOf, receiptOf, termOf } from "./receipt.ts";
import { findLostTransactions } from "./lost-transactions.ts";

/** Hosts' clocks differ from ours, and a proxy may follow after its switchover has ended. */
const TOLERANCE_SECONDS = 10;

/** The phases of operations that request a new primary; each names that one node. */
export const SWITCH_PHASE = "switch ";

/**
 * Turns each change of the primary that has no event yet into one, once its loss is known. Returns whether all have
 * one. The caller has locked the database.
 */
export async function notifyChanges(
  tx: Tx,
  database: DatabaseRow,
  members: readonly ObservedMember[],
  settings: HealthSettings,
  now: Date,
): Promise<boolean> {
  const unreported = await tx
    .selectFrom("primary_changes")
    .selectAll()
    .where("account_id", "=", database.account_id)
    .where("database_id", "=", database.id)
    .where("event_id", "is", null)
    // The first primary replaces nobody.
    .where("from_node", "is not", null)
    .orderBy("id")
    .execute();
  let areAllNotified = true;
  for (const change of unreported) {
    const member = members.find(({ node }) => node === change.from_node);
    const old = member && { ...member, condition: conditionOf(member, settings) };
    areAllNotified = (await notifyChange(tx, database, change, { old, now })) && areAllNotified;
  }
  return areAllNotified;
}

/** `old`: the former primary, while it is a member. */
type Aftermath = { old: Judged | undefined; now: Date };

async function notifyChange(
  tx: Tx,
  database: DatabaseRow,
  change: ChangeRow,
  { old, now }: Aftermath,
): Promise<boolean> {
  const isGroup = !isAsynchronous(database);
  const requested = await requestedBy(tx, database, change);
  // The old primary was fenced before it could hand over: not a planned change.
  const operation = isGroup || old?.report?.fenced !== termOf(change.view) - 1 ? requested : undefined;
  const planned = operation !== undefined;
  const loss: Loss | undefined = isGroup
    ? { lost: 0 }
    : lossOf(change, { planned, timeline: database.timeline_id, old, now });
  if (loss === undefined) return false;
  const [from, to] = [await ordinalOf(tx, change.from_node), await ordinalOf(tx, change.to_node)];
  const name = loss.lost === null ? undefined : loss.saved;
  const saved = name === undefined ? undefined : await findLostTransactions(tx, change.group_id, name);
  const event = await emit(tx, {
    accountId: database.account_id,
    username: null,
    action: "database_failover",
    status: "notification",
    entity: entityOf(database),
    at: now,
    ...(operation === undefined ? {} : { operationId: operation.id }),
    message: receiptOf({ ...change, loss, saved, from, to, planned }),
  });
  await markNotified(tx, change, { event_id: event, operation_id: operation?.id ?? null, lost: loss.lost });
  return true;
}

/** The operation that requested this node as primary at that time, if any. */
const requestedBy = (
  tx: Tx,
  { account_id, id }: DatabaseRow,
  { to_node, at }: ChangeRow,
): Promise<{ id: number } | undefined> => {
  const [early, late] = [-1, 1].map((sign) => new Date(at.getTime() + sign * TOLERANCE_SECONDS * 1000)) as [Date, Date];
  return tx
    .selectFrom("operations")
    .innerJoin("desired_phases", "desired_phases.operation_id", "operations.id")
    .select("operations.id")
    .where("account_id", "=", account_id)
    .where("entity_id", "=", id)
    .where("created_at", "<=", late)
    .where((is) => is.or([is("settled_at", "is", null), is("settled_at", ">=", early)]))
    .where("desired_phases.phase", "like", `${SWITCH_PHASE}%`)
    .where(sql<boolean>`desired_phases.nodes @> ${JSON.stringify([{ node: to_node }])}::jsonb`)
    .orderBy("operations.id", "desc")
    .executeTakeFirst();
};

async function ordinalOf(tx: Tx, node: string | null): Promise<number> {
  const row = await tx.selectFrom("nodes").select("ordinal").where("id", "=", node).executeTakeFirstOrThrow();
  return row.ordinal;
}
