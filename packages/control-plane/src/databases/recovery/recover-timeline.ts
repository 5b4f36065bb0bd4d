import type { NodeSpec } from "@moorage/contract/agent";
import type { Tx } from "#platform/db/database.ts";
import type { Sealer } from "#platform/seal.ts";
import { createArchiveKey } from "../archive/keys.ts";
import { type DatabaseRow, saveDatabase } from "../model/database-store.ts";
import { endTimeline, insertTimeline, liveOn } from "../model/timeline-store.ts";

type Context = { tx: Tx; sealer: Sealer; now: Date };

/**
 * The host may have been restored to a timeline that our restored rows do not know. A spec with the previous timeline,
 * whose volume is in the trash, would make it start an empty one.
 */
export async function followTimeline(
  context: Context,
  database: DatabaseRow,
  { data, engine }: NodeSpec,
  livesOn: string | undefined,
): Promise<DatabaseRow> {
  if (data === undefined || data.timeline === database.timeline_id) return database;
  // A restore is under way there. The previous data are kept and in use: our timeline is the way back to them.
  if (data.keep !== undefined && livesOn !== data.timeline) return database;
  return adoptTimeline(context, database, { data, engine });
}

/**
 * Writes the timeline of a database again from the spec on its host's disk. The origin of the timeline and the key of
 * its archive are lost, so its next base copy is the first that can be restored.
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
