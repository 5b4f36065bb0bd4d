import { toTimestamp } from "@moorage/contract";
import { countMissing, gtidsOfGroup, parseGtidSet } from "@moorage/contract/agent";
import { step } from "@moorage/crash-points";
import { type Selectable, sql } from "kysely";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { EachDue } from "#platform/each-due.ts";
import type { PurgingStore } from "#platform/purging-store.ts";
import { objectKey } from "../../archive/object-names.ts";
import type { DatabaseRow } from "../../model/database-store.ts";
import type { ObservedMember } from "../member-condition.ts";

export const lostTransactionSteps = ["worker.delete-lost-transactions"] as const;

/** Per round; the next round continues. */
const BATCH = 100;

const KEPT_MS = 7 * 86_400_000;
/** At the least, for what the store keeps for longer. */
const LOCKED_MS = 3_600_000;

type LostTransactionsRow = Selectable<Tables["lost_transactions"]>;

type Deps = { db: Db; clock: Clock; archivePurge: PurgingStore; eachDue: EachDue };

/** Records the errant transactions that former primaries have saved. Repeatable: the first report counts. */
export async function saveLostTransactions(
  tx: Tx,
  { account_id, id, timeline_id }: DatabaseRow,
  members: readonly ObservedMember[],
  now: Date,
): Promise<void> {
  for (const { node, report } of members) {
    // Its host still remembers the last save after the member was recloned: that one was recorded long ago.
    if (timeline_id === null || report?.saved_errant === undefined || report.errant === undefined) continue;
    const { name, gtid, bytes, sha256 } = report.saved_errant;
    const transactions = countMissing(gtidsOfGroup(parseGtidSet(gtid), timeline_id), new Map());
    if (transactions === 0) continue;
    await tx
      .insertInto("lost_transactions")
      .values({
        account_id,
        database_id: id,
        timeline_id,
        node_id: node,
        name,
        gtid,
        transactions,
        bytes,
        sha256,
        saved_at: now,
        expires_at: new Date(now.getTime() + KEPT_MS),
      })
      .onConflict((conflict) => conflict.columns(["timeline_id", "name"]).doNothing())
      .execute();
  }
}

export const findLostTransactions = (
  tx: Tx,
  timelineId: string,
  name: string,
): Promise<LostTransactionsRow | undefined> =>
  tx
    .selectFrom("lost_transactions")
    .selectAll()
    .where("timeline_id", "=", timelineId)
    .where("name", "=", name)
    .executeTakeFirst();

/** For operators: the lost transactions of a database, newest first. */
export async function listLostTransactions(db: Db | Tx, databaseId: number) {
  const rows = await db
    .selectFrom("lost_transactions")
    .innerJoin("nodes", "nodes.id", "lost_transactions.node_id")
    .selectAll("lost_transactions")
    .select("nodes.ordinal")
    .where("lost_transactions.database_id", "=", databaseId)
    .orderBy("saved_at", "desc")
    .orderBy("name")
    .execute();
  return rows.map((row) => ({
    name: row.name,
    timeline: row.timeline_id,
    node: row.ordinal,
    transactions: row.transactions,
    bytes: row.bytes,
    sha256: row.sha256,
    gtid: row.gtid,
    saved: toTimestamp(row.saved_at),
    kept_until: toTimestamp(row.expires_at),
    object: keyOf(row),
  }));
}

/**
 * Deletes expired lost transactions from the object store: first the objects, then the rows. Those of a member that was
 * not recloned yet stay, because its host would report them again.
 */
export const createLostTransactionsJob = ({ db, clock, archivePurge, eachDue }: Deps) => {
  const each = eachDue("lostTransactions", "file");
  return async (): Promise<void> => {
    const over = await db
      .selectFrom("lost_transactions")
      .leftJoin("members", "members.node_id", "lost_transactions.node_id")
      .leftJoin("nodes", "nodes.id", "lost_transactions.node_id")
      .selectAll("lost_transactions")
      .where("expires_at", "<=", clock())
      .where((is) =>
        is.or([
          is("nodes.replaced_at", "is not", null),
          sql<boolean>`members.report ->> 'errant' is null`,
          sql<boolean>`members.report -> 'saved_errant' ->> 'name' is distinct from lost_transactions.name`,
        ]),
      )
      .orderBy("expires_at")
      .limit(BATCH + each.skipped())
      .execute();
    const files = over.map((row) => ({ ...row, id: keyOf(row) }));
    await each.run(files, ({ id, timeline_id, name }) =>
      step(lostTransactionSteps[0], async () => {
        const locked = await archivePurge.deleteMany([id]);
        if (locked !== undefined)
          return db
            .updateTable("lost_transactions")
            .set({ expires_at: new Date(Math.max(locked.until.getTime(), clock().getTime() + LOCKED_MS)) })
            .where("timeline_id", "=", timeline_id)
            .where("name", "=", name)
            .execute();
        return db
          .deleteFrom("lost_transactions")
          .where("timeline_id", "=", timeline_id)
          .where("name", "=", name)
          .execute();
      }),
    );
  };
};

const keyOf = ({ account_id, database_id, timeline_id, name }: LostTransactionsRow): string =>
  objectKey({ account_id, database_id, id: timeline_id }, name);
