import type { NewDatabaseBackup } from "@moorage/contract";
import { findNodes, type HostsToWake, type NodeRow, setDesiredSpecs } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError, invalid } from "#platform/errors.ts";
import { type Change, type Engine, inOperation, type Settlement, type Taken } from "../changes/change.ts";
import { type DatabaseRow, saveDatabase } from "../model/database-store.ts";
import { isCluster, statusAfter } from "../model/database.ts";
import { findTimeline } from "../model/timeline-store.ts";
import { type Candidate, chooseArchiver, findArchiver, findCandidates } from "../spec/archiver-store.ts";
import { areThere, type SpecContext, specsOf } from "../spec/desired-specs.ts";
import { type CopyRow, doomCopies, findCopy, insertBackup } from "./backup-store.ts";
import { isDailyLabel } from "./daily-points.ts";
import { texts } from "./texts.ts";

/** In addition to the daily backups, until their tenant deletes them. */
const MOST_SNAPSHOTS = 3;

type CopyTarget = "primary" | "secondary";
/** The input of a snapshot's operation: the copy has its id before it is taken, so that it is taken once. */
export type SnapshotInput = { label: string; copy: string; target?: CopyTarget };

/** After this check only the host's work remains. `others` are the existing backups of the database. */
export function requireSnapshotPossible(
  { cluster_size }: Pick<DatabaseRow, "cluster_size">,
  { label, target }: NewDatabaseBackup,
  others: readonly { type: string; label: string }[],
): void {
  if (target === "secondary" && cluster_size === 1) throw invalid("target", texts.noSecondary());
  if (isDailyLabel(label)) throw new DomainError("invalid", { field: "label", reason: texts.labelReserved() });
  if (others.some((other) => other.label === label))
    throw new DomainError("invalid", { field: "label", reason: texts.labelTaken({ label }) });
  const snapshots = others.filter(({ type }) => type === "snapshot");
  if (snapshots.length >= MOST_SNAPSHOTS)
    throw new DomainError("wrong-state", {
      reason: texts.tooManySnapshots({ most: MOST_SNAPSHOTS, labels: snapshots.map((one) => one.label) }),
    });
}

export const createBackupActivities = (engine: Engine) => ({
  /**
   * "not there": a host has lost the database, or the operation has ended. "no archive": nothing of the database is
   * archived.
   */
  requestCopy: (operationId: number): Promise<"requested" | "not there" | "no archive"> =>
    inOperation(engine, operationId, async (tx, context): Promise<Taken<"requested" | "not there" | "no archive">> => {
      if (context.archiveContext === undefined) return { answer: "no archive" };
      const { copy, target = "primary" } = context.operation.input as SnapshotInput;
      const node = await nodeToCopy(tx, context.database, target, engine.clock());
      if (!context.isOpen || node === undefined) return { answer: "not there" };
      const [spec] = await specsOf(tx, [node], context);
      if (spec === undefined) return { answer: "not there" };
      const tasks = [...(spec.tasks ?? []), { id: copy, kind: "copy" as const }];
      const { hosts } = await setDesiredSpecs(tx, operationId, "copy", [{ ...spec, tasks }], { upTo: 100 });
      return { answer: "requested", hosts };
    }),
});

/**
 * The node that a copy is taken from. A secondary's copy also contains everything committed before it started, so
 * `primary` is only a preference; the archiver has the least other work.
 */
async function nodeToCopy(tx: Tx, database: DatabaseRow, target: CopyTarget, now: Date): Promise<NodeRow | undefined> {
  const nodes = await findNodes(tx, database.account_id, database.id);
  if (!isCluster(database)) return areThere(nodes) ? nodes[0] : undefined;
  if (database.timeline_id === null) return undefined;
  const timeline = await findTimeline(tx, database.timeline_id);
  const chosen = memberToCopy(await findCandidates(tx, timeline, now), await findArchiver(tx, timeline.id), target);
  const node = nodes.find(({ id }) => id === chosen);
  return node !== undefined && areThere([node]) ? node : undefined;
}

/** A member whose logs cannot continue the archive may still have complete data. */
function memberToCopy(
  candidates: readonly Candidate[],
  archiver: string | undefined,
  target: CopyTarget,
): string | undefined {
  const primary = candidates.find((member) => member.primary && member.unhealthyMs === 0);
  if (target === "primary" && primary !== undefined) return primary.node;
  const any = candidates.map((member) => ({ ...member, unfit: false }));
  return chooseArchiver(any, archiver, { freshlyRestored: false, patienceMs: 0 })?.archiver;
}

export const snapshot: Change = {
  kind: "backUpDatabase",
  audited: "back_up_database",
  events: ["database_backup_create"],
  /** Succeeds only with the copy. */
  async judge(tx, { operation, database }, proposed, at) {
    const copy = await findCopy(tx, database.account_id, (operation.input as SnapshotInput).copy);
    return settlementOf(proposed, copy, operation.created_at, at);
  },
  /** The task leaves the desired state: a host that gets it again would store another copy. */
  async end(tx, context, settlement, at) {
    const { operation, database } = context;
    const { label, copy: copyId } = operation.input as SnapshotInput;
    const copy = await findCopy(tx, database.account_id, copyId);
    if (copy !== undefined && settlement.done) await insertBackup(tx, snapshotOf(database, copy, label, at));
    if (copy !== undefined && !settlement.done) await doomCopies(tx, database.account_id, [copy.id], at);
    await saveDatabase(tx, database.account_id, database.id, {
      status: statusAfter("backup", database.status, settlement),
      updated_at: at,
    });
    return withdrawCopy(tx, operation.id, context, copyId);
  },
};

function settlementOf({ done, message }: Settlement, copy: CopyRow | undefined, from: Date, to: Date): Settlement {
  if (done && copy !== undefined)
    return { done, message: texts.snapshotStored({ bytes: copy.bytes, seconds: secondsBetween(from, to) }) };
  const why = done ? texts.snapshotMissing() : (message ?? texts.snapshotLate());
  return { done: false, message: texts.snapshotFailed({ why: why.text }) };
}

const secondsBetween = (from: Date, to: Date): number =>
  Math.max(1, Math.round((to.getTime() - from.getTime()) / 1000));

/** A restore brings back the data as of the end of the copy. */
const snapshotOf = (database: DatabaseRow, copy: CopyRow, label: string, now: Date) => ({
  account_id: database.account_id,
  database_id: database.id,
  type: "snapshot" as const,
  label,
  timeline_id: copy.timeline_id,
  copy_id: copy.id,
  point_at: copy.ended_at,
  created_at: now,
});

async function withdrawCopy(
  tx: Tx,
  operationId: number,
  context: SpecContext,
  copyId: string,
): Promise<HostsToWake | undefined> {
  const node = await nodeWithTask(tx, context.database, copyId);
  if (node === undefined) return undefined;
  const [spec] = await specsOf(tx, [node], context);
  if (spec === undefined) return undefined;
  const { tasks = [], ...without } = spec;
  const others = tasks.filter(({ id }) => id !== copyId);
  return setDesiredSpecs(tx, operationId, "copy ended", [
    { ...without, ...(others.length === 0 ? {} : { tasks: others }) },
  ]);
}

/** The node that has the task: a new choice could be another node. */
async function nodeWithTask(tx: Tx, database: DatabaseRow, taskId: string): Promise<NodeRow | undefined> {
  const nodes = await findNodes(tx, database.account_id, database.id);
  const requested = nodes.filter(
    ({ desired_spec, tombstoned }) => !tombstoned && desired_spec?.tasks?.some(({ id }) => id === taskId),
  );
  return requested[0] ?? (areThere(nodes) ? nodes[0] : undefined);
}
