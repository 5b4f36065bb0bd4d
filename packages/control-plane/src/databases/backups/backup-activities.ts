import { type Wanted, want } from "#fleet/index.ts";
import { findOperation } from "#operations/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { statusAfter } from "../database.ts";
import { type DatabaseRow, saveDatabase } from "../database-store.ts";
import type { ArchiveSettings } from "../node-spec.ts";
import { type Settlement, settle } from "../settle.ts";
import { loadDatabase, type SpecContext, specsOf, wakeHosts } from "../want-specs.ts";
import { type CopyRow, doomCopies, findCopy, insertBackup } from "./backup-store.ts";
import { nodeToCopy, nodeWithJob } from "./node-to-copy.ts";
import { type SnapshotInput, sentenceOf } from "./snapshot.ts";

/** The steps of a snapshot. Each is repeatable: it may have been done before. */
export const createBackupActivities = (deps: { db: Db; clock: Clock; zone: string; archive: ArchiveSettings }) => {
  const { db, clock, zone, archive } = deps;
  return {
    /** "not there": its host has lost the database, or nobody waits any more. "no archive": nothing of it is kept. */
    wantCopy: async (operationId: number): Promise<"wanted" | "not there" | "no archive"> => {
      const wanted = await db.transaction().execute(async (tx) => {
        const context = await loadDatabase(tx, operationId, archive);
        if (context.past === undefined) return "no archive";
        // Asked again under the row's lock: a snapshot that was given up meanwhile must not be taken.
        const { settled_at, input } = await findOperation(tx, operationId);
        const { copy, target = "primary" } = input as SnapshotInput;
        const node = await nodeToCopy(tx, context.database, target, clock());
        if (settled_at !== null || node === undefined) return "not there";
        const [spec] = await specsOf(tx, [node], { ...context, zone });
        if (spec === undefined) return "not there";
        const jobs = [...(spec.jobs ?? []), { id: copy, kind: "copy" as const }];
        return want(tx, operationId, "copy", [{ ...spec, jobs }], { upTo: 100 });
      });
      if (typeof wanted === "string") return wanted;
      await wakeHosts(db, wanted);
      return "wanted";
    },

    /** Done only with its copy. The host is not asked for it any longer: asked again it would store another one. */
    settleBackup: async (operationId: number, asked: Settlement): Promise<void> => {
      const wanted = await db.transaction().execute(async (tx) => {
        const context = await loadDatabase(tx, operationId, archive);
        const { operation, database } = context;
        const { label, copy: copyId } = operation.input as SnapshotInput;
        const copy = await findCopy(tx, database.account_id, copyId);
        const now = clock();
        const settlement = settlementOf(asked, copy, operation.created_at, now);
        if ((await settle(tx, operationId, settlement, now)) === undefined) return undefined;
        if (copy !== undefined && settlement.done) await insertBackup(tx, snapshotOf(database, copy, label, now));
        if (copy !== undefined && !settlement.done) await doomCopies(tx, database.account_id, [copy.id], now);
        await saveDatabase(tx, database.account_id, database.id, {
          status: statusAfter("backup", database.status, settlement),
          updated_at: now,
        });
        return wantWithoutCopy(tx, operationId, { ...context, zone }, copyId);
      });
      if (wanted !== undefined) await wakeHosts(db, wanted);
    },
  };
};
export type BackupActivities = ReturnType<typeof createBackupActivities>;

/** Ends a snapshot whose workflow could not, when its deadline has passed. */
export const createBackupExpiry = ({ settleBackup }: BackupActivities) => ({
  backUpDatabase: (operationId: number) => settleBackup(operationId, { done: false }),
});

async function wantWithoutCopy(
  tx: Tx,
  operationId: number,
  context: SpecContext,
  copyId: string,
): Promise<Wanted | undefined> {
  const node = await nodeWithJob(tx, context.database, copyId);
  if (node === undefined) return undefined;
  const [spec] = await specsOf(tx, [node], context);
  if (spec === undefined) return undefined;
  const { jobs = [], ...without } = spec;
  const others = jobs.filter(({ id }) => id !== copyId);
  return want(tx, operationId, "copy ended", [{ ...without, ...(others.length === 0 ? {} : { jobs: others }) }]);
}

function settlementOf({ done, message }: Settlement, copy: CopyRow | undefined, from: Date, to: Date): Settlement {
  if (done && copy !== undefined) return { done, message: sentenceOf(copy.bytes, from, to) };
  const reason = done
    ? "its host reported it as done, and nothing of it is in the object store."
    : (message ?? "its host did not finish it in time.");
  return { done: false, message: `The snapshot could not be taken: ${reason}` };
}

/** A restore leads back to the end of the copy. */
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
