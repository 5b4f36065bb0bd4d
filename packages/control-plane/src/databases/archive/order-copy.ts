import { randomUUID } from "node:crypto";
import { amendDesired, findNodes } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import type { EachDue } from "#platform/each-due.ts";
import { type DatabaseRow, lockDatabase } from "../model/database-store.ts";
import { findArchiver } from "../spec/archiver-store.ts";
import { wakeHosts } from "../spec/desired-specs.ts";

/** The steps at which a fault drill can kill the job. */
export const neededCopySteps = ["worker.needed-copy"] as const;
const BATCH = 100;
/** A copy that failed, or that is not reported yet. */
const AGAIN_MS = 600_000;

/** After a recovery, an accepted loss or a gap no later time can be restored before there is another base copy. */
export const createNeededCopiesJob = ({ db, clock, eachDue }: { db: Db; clock: Clock; eachDue: EachDue }) => {
  const each = eachDue("neededCopies", "timeline");
  return async (): Promise<void> =>
    each.run(await findDue(db, clock(), BATCH + each.skipped()), ({ account_id, database_id, id }) =>
      transact(db, neededCopySteps[0], async (tx) => {
        const database = await lockDatabase(tx, account_id, database_id);
        if (database.timeline_id !== id || database.deleted_at !== null) return;
        await orderCopy(tx, database, id);
        const copy_order_at = new Date(clock().getTime() + AGAIN_MS);
        await tx
          .updateTable("timelines")
          .set({ copy_order_at })
          .where("id", "=", id)
          .where("copy_order_at", "is not", null)
          .execute();
      }),
    );
};

const findDue = (db: Db, now: Date, most: number) =>
  db
    .selectFrom("timelines")
    .innerJoin("databases", "databases.timeline_id", "timelines.id")
    .select(["timelines.account_id", "timelines.database_id", "timelines.id"])
    .where("copy_order_at", "<=", now)
    .where("databases.deleted_at", "is", null)
    .where("databases.powered", "=", true)
    .where("databases.status", "in", ["active", "degraded"])
    .orderBy("copy_order_at")
    .limit(most)
    .execute();

/** A copy that is requested already is enough: every restore to a later time can begin with it. */
export async function orderCopy(tx: Tx, { account_id, id }: DatabaseRow, timeline: string): Promise<void> {
  const nodes = await findNodes(tx, account_id, id);
  const archiver = await findArchiver(tx, timeline);
  const node = nodes.find((each) => each.id === archiver) ?? nodes[0];
  const isOrdered = (node?.desired_spec?.tasks ?? []).some(
    (task) =>
      task.kind === "copy" && !node?.observed_tasks.some((known) => known.id === task.id && known.state !== "working"),
  );
  if (node === undefined || isOrdered) return;
  const order = { id: randomUUID(), kind: "copy" as const };
  const toWake = await amendDesired(tx, [node], (spec) => ({ ...spec, tasks: [...(spec.tasks ?? []), order] }));
  await wakeHosts(tx, toWake);
}
