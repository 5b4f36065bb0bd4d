import type { MysqlDatabaseChange } from "@moorage/contract";
import { emit } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import { linkEvent, type OperationRow, openOperation, requireCurrent } from "#operations/index.ts";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { sameSources } from "./allow-list.ts";
import { faultsOfFixedFields, labelTaken, requireActionAllowed, statusDuringUpdate } from "./database.ts";
import {
  type DatabaseRow,
  type DatabaseToView,
  findChangedDatabase,
  isLabelTaken,
  lockDatabase,
  saveDatabase,
} from "./database-store.ts";
import { entityOf, targetOf } from "./entity.ts";
import { changedUpdates, faultsOfUpdates } from "./maintenance-window.ts";

export type UpdateDeps = { db: Db; clock: Clock; nudgeRelay: () => void; updateDeadlineSeconds: number };

/** What an update's operation keeps for the case that its list cannot be applied. */
type UpdateInput = { previous_allow_list: string[] };

/**
 * Label and window are ours alone and change with this transaction. A list that lets others in than before is the
 * hosts' too: the database is `updating` until they have it. Clients wait for the event, so every accepted PUT has one.
 */
export async function updateDatabase(
  deps: UpdateDeps,
  by: Principal,
  id: number,
  change: MysqlDatabaseChange,
): Promise<DatabaseToView> {
  const { db, clock } = deps;
  const updated = await transact(db, "api.updateMysqlDatabase", async (tx) => {
    const now = clock();
    const before = await lockDatabase(tx, by.accountId, id);
    if (before.deleted_at !== null) throw notFound();
    const updates = changedUpdates(before.updates, change.updates);
    const faults = [...faultsOfFixedFields(before, change), ...faultsOfUpdates(updates)];
    if (faults.length > 0) throw new DomainError("invalid", ...faults);
    requireActionAllowed("update", before.status);

    const { label = before.label, allow_list = before.allow_list } = change;
    const reachesHosts = !sameSources(before.allow_list, allow_list);
    const after = await saveDatabase(tx, by.accountId, id, {
      ...{ label, allow_list, updates: JSON.stringify(updates), updated_at: now },
      status: statusDuringUpdate(before.status, reachesHosts),
    }).catch((error: unknown) => {
      throw isLabelTaken(error) ? labelTaken(label) : error;
    });
    const operation = reachesHosts ? await openUpdate(tx, deps, before, now) : await requireCurrent(tx);
    await audit(tx, {
      at: now,
      account: by.accountId,
      actor: by.username,
      action: "update_database",
      target: targetOf(id),
      detail: { fields: Object.keys(change) },
    });
    const eventId = await emit(tx, {
      accountId: by.accountId,
      username: by.username,
      action: "database_update",
      status: operation === undefined ? "finished" : "started",
      entity: entityOf(after),
      ...(operation === undefined ? {} : { operationId: operation.id }),
      at: now,
    });
    if (operation !== undefined) await linkEvent(tx, operation.id, eventId);
    return { reachesHosts, view: await findChangedDatabase(tx, by.accountId, id) };
  });
  if (updated.reachesHosts) deps.nudgeRelay();
  return updated.view;
}

const openUpdate = (
  tx: Tx,
  { updateDeadlineSeconds }: UpdateDeps,
  before: DatabaseRow,
  at: Date,
): Promise<{ id: number }> =>
  openOperation(tx, {
    accountId: before.account_id,
    kind: "updateDatabase",
    entityId: before.id,
    input: { previous_allow_list: before.allow_list } satisfies UpdateInput,
    at,
    deadlineSeconds: updateDeadlineSeconds,
  });

export const previousAllowList = ({ input }: OperationRow): string[] => (input as UpdateInput).previous_allow_list;
