import { type HostsToWake, setDesiredSpecs } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import type { Change } from "../changes/change.ts";
import { type Engine, inOperation, type Taken } from "../changes/in-operation.ts";
import type { Settlement } from "../changes/settle.ts";
import { statusAfter } from "../database.ts";
import { type DatabaseRow, saveDatabase } from "../database-store.ts";
import { type SpecContext, specsOf } from "../desired-specs.ts";
import { type CopyRow, doomCopies, findCopy, insertBackup } from "./backup-store.ts";
import { nodeToCopy, nodeWithTask } from "./node-to-copy.ts";
import type { SnapshotInput } from "./snapshot.ts";
import { texts } from "./texts.ts";

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
export type BackupActivities = ReturnType<typeof createBackupActivities>;

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
