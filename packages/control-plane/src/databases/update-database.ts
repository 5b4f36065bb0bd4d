import { isDeepStrictEqual } from "node:util";
import type { MysqlDatabaseChange, Updates } from "@moorage/contract";
import { emit } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import { linkEvent, type OperationRow, openOperation, requireCurrent } from "#operations/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { sameSources } from "./allow-list.ts";
import type { ChangeDeps } from "./change-database.ts";
import { faultsOfFixedFields, faultsOfType, labelTaken, requireActionAllowed, statusDuring } from "./database.ts";
import {
  type DatabaseRow,
  type DatabaseToView,
  findChangedDatabase,
  isLabelTaken,
  lockDatabase,
  saveDatabase,
} from "./database-store.ts";
import { faultsOfEngineConfig } from "./engine-config.ts";
import { entityOf, targetOf } from "./entity.ts";
import { changedUpdates, faultsOfUpdates, nextWindow } from "./maintenance-window.ts";
import { meterDatabase } from "./meter-database.ts";
import { openResize, plansToResize } from "./resize-database.ts";

export type UpdateDeps = ChangeDeps & { updateDeadlineSeconds: number };

/** What an update's operation needs if its list cannot be applied. */
type UpdateInput = { previous_allow_list: string[] };

/**
 * Label and window change with this transaction. A list that admits other sources, or another type, also needs the
 * hosts: the database is `updating` until they have it. Clients wait for the event, so every accepted PUT has one.
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
    const { label = before.label, allow_list = before.allow_list, type = before.plan } = change;
    const updates = changedUpdates(before.updates, change.updates);
    const listChanges = !sameSources(before.allow_list, allow_list);
    const plans = type === before.plan ? undefined : await plansToResize(tx, before);
    const faults = [
      ...faultsOfFixedFields(before, change),
      ...faultsOfEngineConfig(change.engine_config),
      ...(plans === undefined ? [] : faultsOfType(plans, { type, listChanges })),
      ...faultsOfUpdates(updates),
    ];
    if (faults.length > 0) throw new DomainError("invalid", ...faults);
    requireActionAllowed(plans === undefined ? "update" : "resize", before.status);

    const after = await saveDatabase(tx, by.accountId, id, {
      ...{ label, allow_list, updates: JSON.stringify(updates), updated_at: now },
      patch_due_at: plannedAfter(before, updates, now),
      status: listChanges ? statusDuring("update") : before.status,
    }).catch((error: unknown) => {
      throw isLabelTaken(error) ? labelTaken(label) : error;
    });
    // An invoice shows the current label.
    if (label !== before.label) await meterDatabase(tx, after, now);
    const detail = { fields: Object.keys(change) };
    const plan = plans?.offered.find((offered) => offered.id === type);
    if (plans !== undefined && plan !== undefined)
      await openResize(
        tx,
        after,
        { from: plans.current, to: plan },
        { username: by.username, at: now, deadlineSeconds: deps.changeDeadlineSeconds, detail },
      );
    else await recordUpdate(deps, tx, { by, before, after, listChanges, detail, at: now });
    return { reachesHosts: listChanges || plan !== undefined, view: await findChangedDatabase(tx, by.accountId, id) };
  });
  if (updated.reachesHosts) deps.nudgeRelay();
  return updated.view;
}

/** A patch that waits for the window waits for the new one. */
const plannedAfter = (before: DatabaseRow, updates: Updates, now: Date): Date | null =>
  before.patch_due_at === null || isDeepStrictEqual(before.updates, updates)
    ? before.patch_due_at
    : nextWindow(updates, now).start;

type Update = {
  by: Principal;
  before: DatabaseRow;
  after: DatabaseRow;
  listChanges: boolean;
  detail: object;
  at: Date;
};

async function recordUpdate(deps: UpdateDeps, tx: Tx, update: Update): Promise<void> {
  const { by, before, after, listChanges, detail, at } = update;
  const operation = listChanges ? await openUpdate(tx, deps, before, at) : await requireCurrent(tx);
  await audit(tx, {
    at,
    account: by.accountId,
    actor: by.username,
    action: "update_database",
    target: targetOf(after.id),
    detail,
  });
  const eventId = await emit(tx, {
    accountId: by.accountId,
    username: by.username,
    action: "database_update",
    status: operation === undefined ? "finished" : "started",
    entity: entityOf(after),
    ...(operation === undefined ? {} : { operationId: operation.id }),
    at,
    requested: true,
  });
  if (operation !== undefined) await linkEvent(tx, operation.id, eventId);
}

const openUpdate = (
  tx: Tx,
  { updateDeadlineSeconds }: UpdateDeps,
  before: DatabaseRow,
  at: Date,
): Promise<{ id: number }> =>
  openOperation(tx, {
    accountId: before.account_id,
    kind: "applyAllowList",
    entityId: before.id,
    input: { previous_allow_list: before.allow_list } satisfies UpdateInput,
    at,
    deadlineSeconds: updateDeadlineSeconds,
  });

export const previousAllowList = ({ input }: OperationRow): string[] => (input as UpdateInput).previous_allow_list;
