import { isDeepStrictEqual } from "node:util";
import { type MysqlDatabaseChange, toTimestamp, type Updates } from "@moorage/contract";
import { emit } from "#events/index.ts";
import { type Principal, takeFromLimits } from "#identity/index.ts";
import { requireCurrent } from "#operations/index.ts";
import { audit } from "#platform/db/audit.ts";
import { transact, type Tx } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { findPlan, listPlans, type Plan } from "#regions/index.ts";
import { defineChange } from "../changes/column-changes.ts";
import { sameSources } from "../model/allow-list.ts";
import { commonSources } from "../model/common-sources.ts";
import {
  type DatabaseRow,
  type DatabaseToView,
  findChangedDatabase,
  isLabelTaken,
  lockDatabase,
  saveDatabase,
} from "../model/database-store.ts";
import { faultsOfFixedFields, faultsOfType, labelTaken, requireActionAllowed } from "../model/database.ts";
import { faultsOfEngineConfig, plansFor } from "../model/engine.ts";
import { entityOf, targetOf } from "../model/entity.ts";
import { changedUpdates, faultsOfUpdates, nextWindow } from "../model/maintenance-window.ts";
import { differenceOf, meterDatabase } from "../model/usage.ts";
import { texts } from "../model/texts.ts";
import { type ChangeDeps, openChange, type Opened } from "./change-database.ts";

/** Part of an update: the one that names another type. */
export const resizeDatabase = defineChange({
  kind: "resizeDatabase",
  action: "resize",
  work: "resize",
  audited: "resize_database",
  events: ["database_update", "database_resize"],
  notices: ["database_resize_create"],
  keeps: ["plan"],
  rolls: true,
  failed: texts.resizeFailed,
});

/** Part of an update: the one that admits other sources. */
export const applyAllowList = defineChange({
  kind: "applyAllowList",
  action: "update",
  work: "update",
  audited: "update_database",
  events: ["database_update"],
  keeps: ["allow_list"],
  done: (at) => (at === undefined ? texts.allowListApplied() : texts.allowListAppliedAt({ at: toTimestamp(at) })),
  // A host that missed the change is no reason for the others to admit a source again.
  remains: ({ allow_list = [] }, changed) => ({ allow_list: commonSources(allow_list, changed.allow_list) }),
  failed: texts.allowListFailed,
  failedInPart: texts.allowListFailedInPart,
});

type Update = { username: string; at: Date; detail: object };

/**
 * Label and window change with this transaction. A list that admits other sources, or another type, also needs the
 * hosts: the database is `updating` until they have it. Clients wait for the event, so every accepted PUT has one.
 */
export async function updateDatabase(
  deps: ChangeDeps,
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
      const list = { change: applyAllowList, columns: { allow_list } };
      await openChange(tx, after, { ...opened, ...list, deadlineSeconds: deps.updateDeadlineSeconds });
    } else await recordUpdate(tx, after, opened);
    return { reachesHosts: listChanges || plan !== undefined, view: await findChangedDatabase(tx, by.accountId, id) };
  });
  if (updated.reachesHosts) deps.nudgeRelay();
  return updated.view;
}

/** The present plan, which may not be offered any more, and the available ones. */
const plansToResize = async (
  tx: Tx,
  { plan, cluster_size }: DatabaseRow,
): Promise<{ current: Plan; offered: Plan[] }> => ({
  current: (await findPlan(tx, plan)) as Plan,
  offered: plansFor(await listPlans(tx), cluster_size),
});

/** A patch that waits for the window waits for the new one. */
const plannedAfter = (before: DatabaseRow, updates: Updates, now: Date): Date | null =>
  before.patch_due_at === null || isDeepStrictEqual(before.updates, updates)
    ? before.patch_due_at
    : nextWindow(updates, now).start;

/** Checks the account's limits; the room on the hosts is reserved when the new size is sent to them. */
async function openResize(
  tx: Tx,
  database: DatabaseRow,
  { from, to }: { from: Plan; to: Plan },
  opened: Omit<Opened, "change" | "columns">,
): Promise<void> {
  await takeFromLimits(tx, database.account_id, differenceOf(to, from, database.cluster_size));
  await openChange(tx, database, { ...opened, change: resizeDatabase, columns: { plan: to.id } });
}

/** Nothing in it concerns the hosts, so its event is finished. */
async function recordUpdate(tx: Tx, database: DatabaseRow, update: Update): Promise<void> {
  const { username, at, detail } = update;
  const { account_id: accountId, id } = database;
  await requireCurrent(tx, id);
  await audit(tx, {
    at,
    account: accountId,
    actor: username,
    action: applyAllowList.audited,
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
