import type { NodeSpec } from "@moorage/contract/agent";
import { emit } from "#events/index.ts";
import { findNodes, setSize } from "#fleet/index.ts";
import { takeWithoutLimits } from "#identity/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { type EngineVersion, findEngineVersion, findPlan } from "#regions/index.ts";
import { settle } from "../changes/change.ts";
import type { KeptColumn } from "../changes/column-changes.ts";
import { sameSources } from "../model/allow-list.ts";
import { type DatabaseRow, saveDatabase } from "../model/database-store.ts";
import { statusAfter, statusByPower } from "../model/database.ts";
import { entityOf, newPassword, passwordPlace } from "../model/entity.ts";
import { differenceOf, meterDatabase } from "../model/usage.ts";
import { plannedPatch } from "../model/plan-patches.ts";
import { texts } from "../model/texts.ts";
import { unlike } from "../spec/own-version.ts";
import { columnChangeOf, columnChanges } from "../updates/table.ts";

type Context = { tx: Tx; sealer: Sealer; now: Date };
type Reported = Pick<DatabaseRow, KeptColumn>;

/**
 * A host has a later spec of this database than our restored rows: its size, power, image and allow list count. With
 * ours a disk would have to shrink, a suspended database would start, and a source that the tenant removed would be
 * admitted again. The password of a later reset is lost with its row, and the one before it must not come back, so there
 * is a new one.
 */
export async function followChanges(context: Context, before: DatabaseRow, later: NodeSpec): Promise<DatabaseRow> {
  const { tx, sealer, now } = context;
  if (before.deleted_at !== null || before.image === null) return before;
  const { account_id, id } = before;
  const { plan, allow_list } = later.database;
  const reported: Reported = { plan, allow_list, powered: later.power !== "off", image: later.engine.image };
  const [from, to] = [await findPlan(tx, before.plan), await findPlan(tx, reported.plan)];
  const engine = (await findEngineVersion(tx, before.engine_version)) as EngineVersion;
  if (from === undefined || to === undefined) return before;
  const status = statusByPower(await endOpenChanges(context, before, reported), reported.powered);
  const isReset = later.credentials.version > before.credentials_version;
  if (!isReset && !differs(before, reported) && status === before.status) return before;

  const after = await saveDatabase(tx, account_id, id, {
    ...reported,
    status,
    updated_at: now,
    patch_due_at: plannedPatch(
      { ...before, ...reported },
      engine,
      now,
      await nodesDiffer(tx, { ...before, ...reported }, later),
    ),
    ...(isReset
      ? {
          admin_password: sealer.seal(passwordPlace(account_id, id), newPassword()),
          credentials_version: later.credentials.version + 1,
        }
      : {}),
  });
  // The host uses this size already, whether or not there was room for it.
  await setSize(tx, await findNodes(tx, account_id, id), to);
  await meterDatabase(tx, after, now);
  await takeWithoutLimits(tx, account_id, differenceOf(to, from, after.cluster_size));
  await emit(tx, {
    accountId: account_id,
    username: null,
    action: "database_update",
    status: "finished",
    entity: entityOf(after),
    message: isReset ? texts.recoveredWithPassword() : texts.recoveredState(),
    at: now,
  });
  return after;
}

/** A rolling change may have been under way: hosts are compared one after the other. */
async function nodesDiffer(tx: Tx, database: DatabaseRow, { node: own, engine }: NodeSpec): Promise<boolean> {
  const nodes = await findNodes(tx, database.account_id, database.id);
  const others = nodes.filter(({ id }) => id !== own);
  return unlike(database, engine, others) > 0;
}

const columns = ["plan", "powered", "image", "allow_list"] as const satisfies readonly KeptColumn[];
const isEqual = (column: KeptColumn, ours: Reported, theirs: Reported): boolean =>
  column === "allow_list" ? sameSources(ours[column], theirs[column]) : ours[column] === theirs[column];
const differs = (ours: Reported, theirs: Reported): boolean => columns.some((column) => !isEqual(column, ours, theirs));

/** Operations that were open in our backup have ended since: successfully, if the host has their result. */
async function endOpenChanges({ tx, now }: Context, database: DatabaseRow, reported: Reported) {
  const open = await tx
    .selectFrom("operations")
    .select(["id", "kind"])
    .where("account_id", "=", database.account_id)
    .where("entity_id", "=", database.id)
    .where(
      "kind",
      "in",
      columnChanges.map(({ kind }) => kind),
    )
    .where("settled_at", "is", null)
    .execute();
  let { status } = database;
  for (const { id, kind } of open) {
    const { work, keeps } = columnChangeOf(kind);
    const done = keeps.every((column) => isEqual(column, database, reported));
    await settle(tx, id, { done, message: texts.changeSuperseded() }, now);
    status = statusAfter(work, status, { done });
  }
  return status;
}
