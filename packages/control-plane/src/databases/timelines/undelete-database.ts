import { randomUUID } from "node:crypto";
import { toTimestamp } from "@moorage/contract";
import type { Text } from "@moorage/contract/texts";
import { emit } from "#events/index.ts";
import { findNodes } from "#fleet/index.ts";
import { takeFromLimits } from "#identity/index.ts";
import { linkEvent, openOperation } from "#operations/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { findPlan } from "#regions/index.ts";
import { type DatabaseRow, saveDatabase } from "../model/database-store.ts";
import { initialStatus } from "../model/database.ts";
import { entityOf } from "../model/entity.ts";
import { usageOf } from "../model/usage.ts";
import { endTimeline, findTimeline, insertTimeline } from "../model/timeline-store.ts";
import { texts } from "./texts.ts";

type Undeleted = Pick<DatabaseRow, "id" | "account_id" | "label" | "status"> & { data_until: string | null };

/**
 * Brings a deleted database back while its archive is kept: the same id, label and password, on new nodes, with the
 * last archived data. Repeatable: an existing one stays as it is. Grants of users are gone.
 */
export async function undeleteDatabase(
  tx: Tx,
  id: number,
  { at, deadlineSeconds }: { at: Date; deadlineSeconds: number },
): Promise<Undeleted> {
  const database = await lockById(tx, id);
  if (database.deleted_at === null) return { ...database, data_until: null };
  await requireOpenAccount(tx, database);
  const last = await requireUndeletable(tx, database, at);

  const timeline = randomUUID();
  await insertTimeline(tx, database, { id: timeline, from: { parent: last.id, until: last.archived_through }, at });
  await endTimeline(tx, last.id, at);
  const undeleted = await saveDatabase(tx, database.account_id, id, {
    deleted_at: null,
    purge_at: null,
    dns_published_at: null,
    port: null,
    updated_at: at,
    // Like a new one: powered on, with the newest image.
    status: initialStatus,
    powered: true,
    image: null,
    patch_due_at: null,
    timeline_id: timeline,
  });
  const operation = await openOperation(tx, {
    accountId: database.account_id,
    kind: "provisionDatabase",
    entityId: id,
    at,
    deadlineSeconds,
  });
  const plan = await findPlan(tx, database.plan);
  if (plan === undefined) throw new Error(`Database ${id} names a plan that does not exist.`);
  await takeFromLimits(tx, database.account_id, usageOf(plan, database.cluster_size));
  const eventId = await emit(tx, {
    accountId: database.account_id,
    username: null,
    action: "database_create",
    status: "started",
    entity: entityOf(database),
    operationId: operation.id,
    at,
  });
  await linkEvent(tx, operation.id, eventId);
  return { ...undeleted, data_until: toTimestamp(last.archived_through) };
}

async function lockById(tx: Tx, id: number): Promise<DatabaseRow> {
  const found = await tx.selectFrom("databases").selectAll().where("id", "=", id).forUpdate().executeTakeFirst();
  if (found === undefined) throw new DomainError("not-found", { reason: texts.databaseUnknown({ id }) });
  return found;
}

async function requireOpenAccount(tx: Tx, { account_id, id }: DatabaseRow): Promise<void> {
  const { closed_at } = await tx
    .selectFrom("accounts")
    .select("closed_at")
    .where("id", "=", account_id)
    .executeTakeFirstOrThrow();
  if (closed_at !== null) throw refused(texts.undeleteAccountClosed({ id, accountId: account_id }));
}

async function requireUndeletable(tx: Tx, database: DatabaseRow, now: Date) {
  const { account_id, id, label, timeline_id, purge_at } = database;
  if (timeline_id === null || purge_at === null || purge_at <= now) throw refused(texts.undeleteNothingKept({ id }));
  if (await isBeingDeleted(tx, database)) throw refused(texts.undeleteStillDeleting({ id }));
  if ((await findNodes(tx, account_id, id)).length > 0) throw refused(texts.undeleteNodeNotRemoved({ id }));
  const other = await tx
    .selectFrom("databases")
    .select("id")
    .where("account_id", "=", account_id)
    .where("label", "=", label)
    .where("deleted_at", "is", null)
    .executeTakeFirst();
  if (other !== undefined) throw refused(texts.undeleteLabelTaken({ label, other: other.id }));
  return findTimeline(tx, timeline_id);
}

const isBeingDeleted = async (tx: Tx, { account_id, id }: DatabaseRow): Promise<boolean> => {
  const open = await tx
    .selectFrom("operations")
    .select("id")
    .where("account_id", "=", account_id)
    .where("entity_id", "=", id)
    .where("settled_at", "is", null)
    .executeTakeFirst();
  return open !== undefined;
};

const refused = (reason: Text): DomainError => new DomainError("wrong-state", { reason });
