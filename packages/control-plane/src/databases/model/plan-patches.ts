import { sql } from "kysely";
import type { Tx } from "#platform/db/database.ts";
import type { EngineVersion } from "#regions/index.ts";
import type { DatabaseRow } from "./database-store.ts";
import { nextWindow } from "./maintenance-window.ts";

/**
 * When a database is to be patched: as planned, or in its next window. Null: it runs the newest image. Nodes that
 * differ after an interrupted change are made equal by the next patch, whatever their image.
 */
export const plannedPatch = (
  { image, updates, patch_due_at }: Pick<DatabaseRow, "image" | "updates" | "patch_due_at">,
  newest: Pick<EngineVersion, "image">,
  now: Date,
  nodesDiffer = false,
): Date | null =>
  image === null || (image === newest.image && !nodesDiffer) ? null : (patch_due_at ?? nextWindow(updates, now).start);

/** All nodes have the image and plan of their database. */
const isAlike = sql<boolean>`not exists (
  select from nodes where nodes.account_id = databases.account_id and nodes.database_id = databases.id
    and released_at is null and not tombstoned and databases.cluster_size > 1
    and (desired_spec -> 'engine' ->> 'image' <> databases.image or desired_spec -> 'database' ->> 'plan' <> databases.plan))`;

/**
 * Plans the image for every database of a version that runs another one, in its next window; earlier plans stay. A
 * database that is still being provisioned takes the newest image anyway. Returns how many are waiting.
 */
export async function planPatches(tx: Tx, engineVersion: string, image: string, now: Date): Promise<number> {
  const ofVersion = tx
    .updateTable("databases")
    .where("engine_version", "=", engineVersion)
    .where("deleted_at", "is", null);
  await ofVersion
    .set({ patch_due_at: null })
    .where("image", "=", image)
    .where("patch_due_at", "is not", null)
    .where(isAlike)
    .execute();
  // Repeated for databases whose tenants changed the window meanwhile.
  for (let windows = await unplanned(); windows.length > 0; windows = await unplanned())
    await sql`
      update databases set patch_due_at = next.start
      from unnest(${windows.map((updates) => JSON.stringify(updates))}::jsonb[],
        ${windows.map((updates) => nextWindow(updates, now).start)}::timestamptz[]) as next (updates, start)
      where databases.updates = next.updates and engine_version = ${engineVersion} and deleted_at is null
        and image <> ${image} and patch_due_at is null`.execute(tx);
  const { waiting } = await tx
    .selectFrom("databases")
    .select(({ fn }) => fn.countAll<number>().as("waiting"))
    .where("engine_version", "=", engineVersion)
    .where("deleted_at", "is", null)
    .where("patch_due_at", "is not", null)
    .executeTakeFirstOrThrow();
  return waiting;

  /** There are a few thousand different windows at most, however many databases. */
  async function unplanned(): Promise<DatabaseRow["updates"][]> {
    const rows = await tx
      .selectFrom("databases")
      .select("updates")
      .distinct()
      .where("engine_version", "=", engineVersion)
      .where("deleted_at", "is", null)
      .where("image", "<>", image)
      .where("patch_due_at", "is", null)
      .execute();
    return rows.map(({ updates }) => updates);
  }
}
