import type { NodeSpec } from "@moorage/contract/agent";
import type { Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { createArchiveKey } from "../archive/archive-key.ts";
import { type DatabaseRow, saveDatabase } from "../database-store.ts";
import { insertTimeline, endTimeline, liveOn } from "../timeline-store.ts";

type Context = { tx: Tx; sealer: Sealer; now: Date };

/**
 * Its host may have been restored to a timeline of which our restored copy knows nothing. Told to live on the one before,
 * whose volume is in the trash, it would begin an empty one.
 */
export async function followTimeline(
  context: Context,
  database: DatabaseRow,
  { data, engine }: NodeSpec,
  livesOn: string | undefined,
): Promise<DatabaseRow> {
  if (data === undefined || data.timeline === database.timeline_id) return database;
  // A restore is under way there. The data from before it are kept and in use: ours is the way back to them.
  if (data.keep !== undefined && livesOn !== data.timeline) return database;
  return adoptTimeline(context, database, { data, engine });
}

/**
 * Writes the past of a database again, as far as the spec on its host's disk tells it: where the timeline began, and the
 * key of what was archived, are lost. Its next base copy is the first that can be restored.
 */
export async function adoptTimeline(
  { tx, sealer, now }: Context,
  database: DatabaseRow,
  { data, engine }: Pick<NodeSpec, "data" | "engine">,
): Promise<DatabaseRow> {
  await createArchiveKey(tx, sealer, database);
  if (data === undefined) return database;
  await insertTimeline(tx, database, { id: data.timeline, ordinal: data.ordinal, from: "lost", at: now });
  if (database.timeline_id !== null) await endTimeline(tx, database.timeline_id, now);
  await liveOn(tx, data.timeline, now);
  return saveDatabase(tx, database.account_id, database.id, { timeline_id: data.timeline, image: engine.image });
}
