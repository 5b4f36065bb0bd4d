import { isNewer, type NodeReport, type NodeSpec } from "@moorage/contract/agent";
import { emit, endEvent } from "#events/index.ts";
import {
  adoptNode,
  confirmGone,
  findHostNodes,
  type NodeRow,
  stopWanting,
  type UntimedSpec,
  wantAnew,
} from "#fleet/index.ts";
import { giveBackToLimits, takeWithoutLimits } from "#identity/index.ts";
import { settleOperation } from "#operations/index.ts";
import { audit } from "#platform/audit.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { findEngineVersion, findPlan } from "#regions/index.ts";
import { newPassword, usageOf } from "./create-database.ts";
import { type DatabaseRow, insertDatabase, lockDatabase, saveDatabase } from "./database-store.ts";
import { purgeTime } from "./delete-database.ts";
import { entityOf, passwordPlace, targetOf } from "./entity.ts";
import { defaultUpdates } from "./maintenance-window.ts";
import { meterDatabase } from "./meter-database.ts";
import type { ArchiveSettings } from "./node-spec.ts";
import { followUpdate } from "./recover-allow-list.ts";
import { followChanges } from "./recover-changes.ts";
import { allowGap, findPast, stopDailyPoints } from "./timeline-store.ts";
import { adoptTimeline, followTimeline } from "./timelines/recover-timeline.ts";
import { specsOf } from "./want-specs.ts";

/** What a recovery found, for the operator to read. */
export type Recovery = { kept: number; adopted: string[]; deleted: string[]; missing: string[]; orphans: string[] };
export const emptyRecovery = (): Recovery => ({ kept: 0, adopted: [], deleted: [], missing: [], orphans: [] });

type Context = {
  tx: Tx;
  sealer: Sealer;
  zone: string;
  archive: ArchiveSettings;
  /** So long a deleted database can be brought back. */
  undeleteDays: number;
  epoch: number;
  now: Date;
  found: Recovery;
};

/**
 * Brings our rows and one host together after our database was set back in time. The host is believed: what runs there
 * is kept and, if we lost it, written again; what it removed by a tombstone stays removed. Nothing is deleted here.
 */
export async function recoverHost(context: Context, hostId: number, digest: readonly NodeReport[]): Promise<void> {
  const { tx, found } = context;
  const ours = new Map((await findHostNodes(tx, hostId)).map((node) => [node.id, node]));
  for (const report of digest) {
    const { spec } = report;
    const node = ours.get(report.node);
    ours.delete(report.node);
    const tombstone = spec?.tombstone;
    if (report.state === "gone") {
      if (node !== undefined) await confirmGone(tx, node, context.now);
      if (spec !== undefined) await followDeletion(context, spec);
    } else if (tombstone !== undefined && spec !== undefined && node?.tombstoned !== true) {
      // Its host is about to remove it, by an operation that we may have forgotten, and goes on by itself.
      if (node !== undefined) await wantAnew(tx, node, { ...untimed(spec), tombstone }, context.epoch);
      await followDeletion(context, spec);
    } else if (node !== undefined) {
      await keep(context, node, report);
    } else if (spec !== undefined) {
      await adopt(context, hostId, spec, report.state === "running");
    } else {
      found.orphans.push(report.node);
    }
  }
  for (const node of ours.values()) await missing(context, node);
}

async function keep(context: Context, node: NodeRow, report?: NodeReport): Promise<void> {
  const { tx, epoch, now, found } = context;
  const told = report?.spec;
  const ours = await lockDatabase(tx, node.account_id, node.database_id);
  const wanted = { epoch: node.wanted_epoch, generation: node.wanted_generation };
  const isBehind = told !== undefined && isSame(ours, told) && isNewer(told, wanted);
  const reached = isBehind ? await followUpdate(tx, ours, told, now) : ours;
  const updated = isBehind ? await followChanges(context, reached, told) : reached;
  const database = isBehind ? await followTimeline(context, updated, told, report?.timeline) : updated;
  await allowGap(tx, database);
  await wantAnew(tx, node, await specOf(context, node, database), epoch);
  found.kept++;
}

/** Deleted after the copy was taken: the tenant was told so, and it stays true. Repeatable, once for each node. */
async function followDeletion(context: Context, spec: NodeSpec): Promise<void> {
  const { tx, now, found } = context;
  const database = await findSame(tx, spec);
  if (database === undefined) return;
  const ended = await endOpenOperations(context, database);
  // A deletion that was settled, in whatever way, has given back already.
  if (database.deleted_at !== null && !ended.includes("deleteDatabase")) return;
  const deleted = await saveDatabase(tx, database.account_id, database.id, {
    deleted_at: database.deleted_at ?? now,
    purge_at: database.purge_at ?? purgeTime(now, context.undeleteDays),
    updated_at: now,
  });
  await stopDailyPoints(tx, database);
  await meterDatabase(tx, deleted, now);
  const plan = await findPlan(tx, database.plan);
  if (plan !== undefined) await giveBackToLimits(tx, database.account_id, usageOf(plan, database.cluster_size));
  found.deleted.push(`${database.label} (${database.id})`);
}

async function endOpenOperations({ tx, now }: Context, database: DatabaseRow): Promise<string[]> {
  const open = await tx
    .selectFrom("operations")
    .select(["id", "kind", "event_id"])
    .where("account_id", "=", database.account_id)
    .where("entity_id", "=", database.id)
    .where("settled_at", "is", null)
    .execute();
  for (const { id, kind, event_id } of open) {
    const done = kind === "deleteDatabase";
    const message = "Ended by the recovery of the control plane: the database was deleted.";
    await settleOperation(tx, id, { outcome: done ? "done" : "failed", message, at: now });
    if (event_id !== null)
      await endEvent(tx, { eventId: event_id, status: done ? "finished" : "failed", message, at: now });
  }
  return open.map(({ kind }) => kind);
}

/** Created after the copy was taken. Its password is lost with the row that held it, so it gets a new one. */
async function adopt(context: Context, hostId: number, spec: NodeSpec, running: boolean): Promise<void> {
  const { tx, sealer, epoch, now, found } = context;
  const { account, id, label, plan: planId, engine } = spec.database;
  const owner = await tx.selectFrom("accounts").select("id").where("id", "=", account).executeTakeFirst();
  const plan = await findPlan(tx, planId);
  if (owner === undefined || plan === undefined || (await findEngineVersion(tx, engine)) === undefined) {
    found.orphans.push(`${spec.node} (database ${id} of account ${account})`);
    return;
  }
  const known = await findById(tx, spec);
  // The id was given out again before anyone noticed: not the same database, and not to be mixed with it.
  if (known !== undefined && !isSame(known, spec)) {
    found.orphans.push(`${spec.node} (database ${id} of account ${account}, whose id is another database's now)`);
    return;
  }
  const database = known ?? (await adoptTimeline(context, await rewriteDatabase(context, spec, running), spec));
  if (known === undefined) {
    await meterDatabase(tx, database, now);
    await takeWithoutLimits(tx, account, usageOf(plan, database.cluster_size));
    await audit(tx, { at: now, account, actor: "operator", action: "recover_database", target: targetOf(id) });
    const message = "Recovered after the control plane was restored from a backup. The password is new.";
    await emit(tx, {
      accountId: account,
      username: null,
      action: "database_create",
      status: "finished",
      entity: entityOf(database),
      message,
      at: now,
    });
  }
  await allowGap(tx, database);
  const node = await adoptNode(tx, hostId, spec, now);
  await saveDatabase(tx, account, id, { port: node.port });
  await wantAnew(tx, node, await specOf(context, node, database), epoch);
  found.adopted.push(`${label} (${id})`);

  async function rewriteDatabase({ tx: own }: Context, from: NodeSpec, isRunning: boolean): Promise<DatabaseRow> {
    const { created, replication_type, region, ...rest } = from.database;
    const row = {
      account_id: account,
      id,
      engine_version: engine,
      region,
      plan: planId,
      cluster_size: rest.cluster_size,
      replication_type: replication_type as DatabaseRow["replication_type"],
      encrypted: rest.encrypted,
      ssl_connection: rest.ssl_connection,
      allow_list: rest.allow_list,
      status: isRunning ? ("active" as const) : ("failed" as const),
      updates: JSON.stringify(defaultUpdates),
      port: from.network.port,
      admin_password: sealer.seal(passwordPlace(account, id), newPassword()),
      credentials_version: from.credentials.version + 1,
      created_at: new Date(created),
      updated_at: now,
      deleted_at: null,
    };
    // Its label may have been given out again before anyone noticed.
    const saved =
      (await insertDatabase(own, { ...row, label })) ??
      (await insertDatabase(own, { ...row, label: `${label.slice(0, 12)}-${id}` }));
    if (saved === undefined) throw new Error(`Database ${id} cannot be adopted: both of its labels are taken.`);
    return saved;
  }
}

/** We believe it is there, and its host has never heard of it. Made anew only if it was still being made. */
async function missing(context: Context, node: NodeRow): Promise<void> {
  const { tx, found } = context;
  const database = await lockDatabase(tx, node.account_id, node.database_id);
  if (database.status === "provisioning" && database.deleted_at === null) return keep(context, node);
  if (node.tombstoned || database.deleted_at !== null) return keep(context, node);
  await stopWanting(tx, node);
  found.missing.push(`${database.label} (${database.id})`);
}

const isSame = (database: DatabaseRow, { database: told }: NodeSpec): boolean =>
  database.account_id === told.account && database.created_at.toISOString() === told.created;

const findById = (tx: Tx, { database: { account, id } }: NodeSpec): Promise<DatabaseRow | undefined> =>
  tx
    .selectFrom("databases")
    .selectAll()
    .where("account_id", "=", account)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();

async function findSame(tx: Tx, spec: NodeSpec): Promise<DatabaseRow | undefined> {
  const found = await findById(tx, spec);
  return found !== undefined && isSame(found, spec) ? found : undefined;
}

const untimed = ({ epoch: _epoch, generation: _generation, ...spec }: NodeSpec): UntimedSpec => spec;

async function specOf({ tx, zone, archive }: Context, node: NodeRow, database: DatabaseRow) {
  const [plan, engine] = [await findPlan(tx, database.plan), await findEngineVersion(tx, database.engine_version)];
  if (plan === undefined || engine === undefined)
    throw new Error(`Database ${database.id} names a plan or engine that does not exist.`);
  const past = await findPast(tx, database, archive);
  const [spec] = await specsOf(tx, [node], { database, plan, engine, zone, past });
  if (spec === undefined) throw new Error(`Node ${node.id} has no host.`);
  // A deletion under way stays one.
  return node.tombstoned && node.waiting_operation_id !== null
    ? { ...spec, tombstone: { operation: node.waiting_operation_id } }
    : spec;
}
