import { type HostsToWake, setDesiredSpecs } from "#fleet/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { statusAfter } from "../database.ts";
import { type DatabaseRow, saveDatabase } from "../database-store.ts";
import type { ArchiveSettings } from "../node-spec.ts";
import { type Settlement, settle } from "../settle.ts";
import { loadDatabase, type SpecContext, specsOf, wakeHosts } from "../desired-specs.ts";
import { type CopyRow, doomCopies, findCopy, insertBackup } from "./backup-store.ts";
import { nodeToCopy, nodeWithTask } from "./node-to-copy.ts";
import { type SnapshotInput, sentenceOf } from "./snapshot.ts";

/** The steps of a snapshot. Each is repeatable: it may have run before. */
export const createBackupActivities = (deps: { db: Db; clock: Clock; zone: string; archive: ArchiveSettings }) => {
  const { db, clock, zone, archive } = deps;
  return {
    /**
     * "not there": a host has lost the database, or the operation has ended. "no archive": nothing of the database is
     * archived.
     */
    requestCopy: async (operationId: number): Promise<"requested" | "not there" | "no archive"> => {
      const outcome = await db.transaction().execute(async (tx) => {
        const context = await loadDatabase(tx, operationId, archive);
        if (context.archiveContext === undefined) return "no archive";
        // Read again under the row's lock: a snapshot that was given up meanwhile must not be taken.
        const { settled_at, input } = await findOperation(tx, operationId);
        const { copy, target = "primary" } = input as SnapshotInput;
        const node = await nodeToCopy(tx, context.database, target, clock());
        if (settled_at !== null || node === undefined) return "not there";
        const [spec] = await specsOf(tx, [node], { ...context, zone });
        if (spec === undefined) return "not there";
        const tasks = [...(spec.tasks ?? []), { id: copy, kind: "copy" as const }];
        return setDesiredSpecs(tx, operationId, "copy", [{ ...spec, tasks }], { upTo: 100 });
      });
      if (typeof outcome === "string") return outcome;
      await wakeHosts(db, outcome);
      return "requested";
    },

    /**
     * Succeeds only with the copy. The task leaves the desired state: a host that gets it again would store another
     * copy.
     */
    settleBackup: async (operationId: number, proposed: Settlement): Promise<void> => {
      const toWake = await db.transaction().execute(async (tx) => {
        const context = await loadDatabase(tx, operationId, archive);
        const { operation, database } = context;
        const { label, copy: copyId } = operation.input as SnapshotInput;
        const copy = await findCopy(tx, database.account_id, copyId);
        const now = clock();
        const settlement = settlementOf(proposed, copy, operation.created_at, now);
        if ((await settle(tx, operationId, settlement, now)) === undefined) return undefined;
        if (copy !== undefined && settlement.done) await insertBackup(tx, snapshotOf(database, copy, label, now));
        if (copy !== undefined && !settlement.done) await doomCopies(tx, database.account_id, [copy.id], now);
        await saveDatabase(tx, database.account_id, database.id, {
          status: statusAfter("backup", database.status, settlement),
          updated_at: now,
        });
        return withdrawCopy(tx, operationId, { ...context, zone }, copyId);
      });
      if (toWake !== undefined) await wakeHosts(db, toWake);
    },
  };
};
export type BackupActivities = ReturnType<typeof createBackupActivities>;

/** Ends a snapshot after its deadline if its workflow could not. */
export const createBackupExpiry = ({ settleBackup }: BackupActivities) => ({
  backUpDatabase: (operationId: number) => settleBackup(operationId, { done: false }),
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

function settlementOf({ done, message }: Settlement, copy: CopyRow | undefined, from: Date, to: Date): Settlement {
  if (done && copy !== undefined) return { done, message: sentenceOf(copy.bytes, from, to) };
  const reason = done
    ? "its host reported it as done, and nothing of it is in the object store."
    : (message ?? "its host did not finish it in time.");
  return { done: false, message: `The snapshot could not be taken: ${reason}` };
}

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
