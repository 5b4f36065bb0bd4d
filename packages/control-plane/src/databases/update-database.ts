import { isDeepStrictEqual } from "node:util";
import type { MysqlDatabaseChange, Updates } from "@moorage/contract";
import { emit } from "#events/index.ts";
import type { Principal } from "#identity/index.ts";
import { requireCurrent } from "#operations/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { sameSources } from "./allow-list.ts";
import { type ChangeDeps, openChange } from "./changes/change-database.ts";
import { columnChanges } from "./changes/column-changes.ts";
import { faultsOfFixedFields, faultsOfType, labelTaken, requireActionAllowed } from "./database.ts";
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
      label,
      updates: JSON.stringify(updates),
      updated_at: now,
      // The same sources may be written in another way.
      ...(listChanges ? {} : { allow_list }),
      patch_due_at: plannedAfter(before, updates, now),
    }).catch((error: unknown) => {
      throw isLabelTaken(error) ? labelTaken(label) : error;
    });
    // An invoice shows the current label.
    if (label !== before.label) await meterDatabase(tx, after, now);
    const opened = { username: by.username, at: now, detail: { fields: Object.keys(change) } };
    const plan = plans?.offered.find((offered) => offered.id === type);
    if (plans !== undefined && plan !== undefined) {
      const sizes = { from: plans.current, to: plan };
      await openResize(tx, after, sizes, { ...opened, deadlineSeconds: deps.changeDeadlineSeconds });
    } else if (listChanges) {
      const list = { kind: "applyAllowList", columns: { allow_list } } as const;
      await openChange(tx, after, { ...opened, ...list, deadlineSeconds: deps.updateDeadlineSeconds });
    } else await recordUpdate(tx, after, opened);
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

type Update = { username: string; at: Date; detail: object };

/** Nothing in it concerns the hosts, so its event is finished. */
async function recordUpdate(tx: Tx, database: DatabaseRow, update: Update): Promise<void> {
  const { username, at, detail } = update;
  const { account_id: accountId, id } = database;
  await requireCurrent(tx);
  await audit(tx, {
    at,
    account: accountId,
    actor: username,
    action: columnChanges.applyAllowList.audited,
    target: targetOf(id),
    detail,
  });
  await emit(tx, {
    accountId,
    username,
    action: "database_update",
    status: "finished",
    entity: entityOf(database),
    at,
    requested: true,
  });
}
