import { sql } from "kysely";
import { step } from "@moorage/crash-points";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { Objects } from "#platform/objects.ts";
import { keyOf } from "./lost-transactions-store.ts";

type Deps = { db: Db; clock: Clock; objects: Objects };

export const lostTransactionSteps = ["worker.delete-lost-transactions"] as const;

/** Per round; the next round continues. */
const BATCH = 100;

/**
 * Deletes expired lost transactions from the object store: first the objects, then the rows. Those of a member that was
 * not recloned yet stay, because its host would report them again. Throws while the object store is unavailable; the
 * next round continues.
 */
export const createLostTransactionsJob =
  ({ db, clock, objects }: Deps) =>
  async (): Promise<void> => {
    const over = await db
      .selectFrom("lost_transactions")
      .leftJoin("members", "members.node_id", "lost_transactions.node_id")
      .selectAll("lost_transactions")
      .where("expires_at", "<=", clock())
      .where((is) =>
        is.or([
          is("members.replaced_at", "is not", null),
          sql<boolean>`members.report ->> 'errant' is null`,
          sql<boolean>`members.report -> 'saved_errant' ->> 'name' is distinct from lost_transactions.name`,
        ]),
      )
      .orderBy("expires_at")
      .limit(BATCH)
      .execute();
    if (over.length === 0) return;
    await step(lostTransactionSteps[0], async () => {
      await objects.deleteMany(over.map(keyOf));
      for (const { timeline_id, name } of over)
        await db
          .deleteFrom("lost_transactions")
          .where("timeline_id", "=", timeline_id)
          .where("name", "=", name)
          .execute();
    });
  };
