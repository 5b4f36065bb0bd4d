import { sql } from "kysely";
import { step } from "@moorage/crash-points";
import type { Clock } from "#platform/clock.ts";
import type { Db } from "#platform/db/database.ts";
import type { Objects } from "#platform/objects.ts";
import { keyOf } from "./tail-store.ts";

type Deps = { db: Db; clock: Clock; objects: Objects };

export const tailSteps = ["worker.delete-tails"] as const;

/** Of one round; the next one goes on. */
const BATCH = 100;

/**
 * Takes tails whose time is over out of the object store: first the objects, then the rows. One whose member was not made
 * anew yet stays: its host would tell of it again. While the store is away it throws, and the next round goes on.
 */
export const createTailsChore =
  ({ db, clock, objects }: Deps) =>
  async (): Promise<void> => {
    const over = await db
      .selectFrom("tails")
      .leftJoin("members", "members.node_id", "tails.node_id")
      .selectAll("tails")
      .where("expires_at", "<=", clock())
      .where((is) =>
        is.or([
          is("members.replaced_at", "is not", null),
          sql<boolean>`members.report ->> 'errant' is null`,
          sql<boolean>`members.report -> 'tail' ->> 'name' is distinct from tails.name`,
        ]),
      )
      .orderBy("expires_at")
      .limit(BATCH)
      .execute();
    if (over.length === 0) return;
    await step(tailSteps[0], async () => {
      await objects.deleteMany(over.map(keyOf));
      for (const { timeline_id, name } of over)
        await db.deleteFrom("tails").where("timeline_id", "=", timeline_id).where("name", "=", name).execute();
    });
  };
