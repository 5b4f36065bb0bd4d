import type { NodeReport, ObservedRequest, Sequence } from "@moorage/contract/agent";
import { sql } from "kysely";
import { addSignal, findOperation, raisePercent } from "#operations/index.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import { type HostRow, saveUnknown } from "./host-store.ts";
import { addDiskAlert } from "./node-store.ts";
import { percentOf } from "./phase-progress.ts";
import { storeChange } from "./primary-changes.ts";
import { noteSetBack } from "./prove-current.ts";
import { quarantine } from "./quarantine.ts";
import { findPhases } from "./set-desired.ts";
import { keyOfSeal, type Signing, wasSent } from "./told.ts";

const FINAL = new Set(["running", "stopped", "gone", "failed", "unsupported"]);

/**
 * Stores a host's report of its own nodes, and a signal for the operation that waits for them. Never changes a status:
 * the workflow decides what an observation means. Returns whether there is a signal to relay.
 */
export async function observe(
  { db, sealer }: { db: Db; sealer: Signing },
  host: HostRow,
  request: ObservedRequest,
  now: Date,
): Promise<boolean> {
  if (request.complete) await saveUnknown(db, host.id, request.unknown);
  const waiting = new Set<number>();
  let hinted = false;
  for (const report of request.nodes) {
    const isOurs = wasSent(sealer, host.id, report);
    if (!isOurs && (await isAhead(db, host.id, report))) {
      await quarantine(db, host.id, report, now);
      continue;
    }
    const operation = await transact(db, "fleet.observe", async (tx) => {
      const stored = await storeReport(tx, host.id, report, { ...request.sequence, isOurs }, now);
      if (stored === undefined) return undefined;
      // Its host was sent this desired state by a database that has forgotten it.
      if (stored.ahead) await noteSetBack(tx, now);
      // A member may wait for other members: then it can only report that it has read its desired state.
      const moved = stored.member && ((await storeMember(tx, report, stored, now)) || stored.advanced);
      if (stored.disk_changed) {
        const { node, disk, used_disk_mb } = report;
        await addDiskAlert(tx, { ...stored, node }, { disk, used_disk_mb }, now);
      }
      if (stored.waiting_operation_id === null) return undefined;
      const final = (FINAL.has(report.state) || hasEndedTask(report) || moved) && stored.current;
      if (final && (await addSignal(tx, stored.waiting_operation_id))) hinted = true;
      return stored.waiting_operation_id;
    });
    if (operation !== undefined) waiting.add(operation);
  }
  for (const change of request.changes ?? [])
    await transact(db, "fleet.observe", (tx) => storeChange(tx, host, change, now));
  for (const operation of waiting) await updateProgress(db, operation);
  return hinted;
}

/** Until its server runs again: meanwhile it is being killed and started. */
function unresponsiveOf({ state, unresponsive }: NodeReport): { unresponsive?: boolean } {
  if (unresponsive === true) return { unresponsive };
  return FINAL.has(state) ? { unresponsive: false } : {};
}

const hasEndedTask = ({ tasks = [] }: NodeReport): boolean => tasks.some(({ state }) => state !== "working");

/**
 * Stores a member's report of its group. A change makes the cluster's health check due at once, whatever was scheduled.
 * Returns whether there was a change; the replication backlog does not count as one.
 */
async function storeMember(
  tx: Tx,
  report: NodeReport,
  { database_id, state_changed }: { database_id: number; state_changed: boolean },
  now: Date,
): Promise<boolean> {
  const group = report.group === undefined ? null : JSON.stringify(report.group);
  const well = report.state === "running" && report.group?.state === "online" && report.group.shared;
  const stored = await tx
    .updateTable("members")
    .set({
      report: group,
      reported_at: now,
      unhealthy_since: well ? null : sql<Date>`coalesce(unhealthy_since, ${now})`,
    })
    .where("node_id", "=", report.node)
    .returning(
      sql<boolean>`old.report - 'backlog_seconds' is distinct from ${group}::jsonb - 'backlog_seconds'`.as("changed"),
    )
    .executeTakeFirst();
  const isNews = stored !== undefined && (stored.changed || state_changed);
  if (isNews)
    await tx
      .updateTable("clusters")
      .set({ check_at: now })
      .where("database_id", "=", database_id)
      .where((is) => is.or([is("check_at", "is", null), is("check_at", ">", now)]))
      .execute();
  return isNews;
}

/**
 * Of a later desired state than ours. What is of an earlier epoch was compared by the recovery that raised it, and need
 * not have been issued again.
 */
const laterThanOurs = ({ epoch, generation }: NodeReport) =>
  sql<boolean>`(${epoch}::int, ${generation}::int) > (desired_epoch, desired_generation)
    and ${epoch}::int >= (select epoch from installation)`;

async function isAhead(db: Db, hostId: number, report: NodeReport): Promise<boolean> {
  const ahead = await db
    .selectFrom("nodes")
    .select("id")
    .where("id", "=", report.node)
    .where("host_id", "=", hostId)
    .where(laterThanOurs(report))
    .executeTakeFirst();
  return ahead !== undefined;
}

/**
 * Only a node's own host may report it, and an older state never replaces a newer one: by generation, and within one by
 * the agent's order, because a request that hung may be stored after a newer one.
 */
function storeReport(
  tx: Tx,
  hostId: number,
  report: NodeReport,
  { start, count, isOurs }: Sequence & { isOurs: boolean },
  now: Date,
) {
  return tx
    .updateTable("nodes")
    .set({
      ...(report.disk === undefined ? {} : { disk_state: report.disk }),
      ...(report.timeline === undefined ? {} : { observed_timeline: report.timeline }),
      ...(report.tasks === undefined ? {} : { observed_tasks: JSON.stringify(report.tasks) }),
      observed_epoch: report.epoch,
      observed_generation: report.generation,
      observed_start: start,
      observed_count: count,
      observed_state: report.state,
      observed_step: report.step ?? null,
      observed_percent: report.percent,
      ...(isOurs && report.seal !== undefined ? { observed_key: keyOfSeal(report.seal) } : {}),
      observed_message: report.message ?? null,
      ...unresponsiveOf(report),
      observed_at: now,
      ...(report.used_disk_mb === undefined ? {} : { used_disk_mb: report.used_disk_mb }),
    })
    .where("id", "=", report.node)
    .where("host_id", "=", hostId)
    .where(
      sql<boolean>`(observed_epoch, observed_generation, observed_start, observed_count)
        <= (${report.epoch}::int, ${report.generation}::int, ${start}::bigint, ${count}::bigint)`,
    )
    .returning([
      "account_id",
      "database_id",
      "waiting_operation_id",
      sql<boolean>`old.disk_state is distinct from coalesce(${report.disk ?? null}::text, old.disk_state)`.as(
        "disk_changed",
      ),
      sql<boolean>`old.observed_state is distinct from nodes.observed_state`.as("state_changed"),
      sql<boolean>`(old.observed_epoch, old.observed_generation) < (nodes.observed_epoch, nodes.observed_generation)`.as(
        "advanced",
      ),
      sql<boolean>`coalesce(nodes.desired_spec -> 'cluster', 'null') <> 'null'`.as("member"),
      sql<boolean>`(observed_epoch, observed_generation) >= (desired_epoch, desired_generation)`.as("current"),
      laterThanOurs(report).as("ahead"),
    ])
    .executeTakeFirst();
}

/**
 * Updates the progress that people watch. Runs outside of the transaction of the report, which must not hold a node's
 * lock while it waits for an operation. Skips operations that have ended.
 */
async function updateProgress(db: Db, operationId: number): Promise<void> {
  if ((await findOperation(db, operationId)).settled_at !== null) return;
  const phases = await findPhases(db, operationId);
  const ids = [...new Set(phases.flatMap(({ nodes }) => nodes.map(({ node }) => node)))];
  if (ids.length === 0) return;
  const nodes = await db.selectFrom("nodes").selectAll().where("id", "in", ids).execute();
  await raisePercent(db, operationId, percentOf(phases, nodes));
}
