import { randomUUID } from "node:crypto";
import type { World } from "./world.ts";

/** Records that the archive of a database would have produced. Times are the world's. */

type DatabaseId = { id: number };

export const timelinesOf = (world: World, { id }: DatabaseId) =>
  world.db.selectFrom("timelines").selectAll().where("database_id", "=", id).orderBy("ordinal").execute();

export async function archivedThrough(world: World, { id }: DatabaseId, at: Date = world.time.now): Promise<void> {
  const { timeline_id } = await world.databaseRow(id);
  await world.db
    .updateTable("timelines")
    .set({ archived_through: at })
    .where("id", "=", timeline_id ?? "")
    .execute();
}

/** A daily point, or a snapshot with its copy, on the database's current timeline. */
export async function hasBackup(world: World, { id }: DatabaseId, type: "auto" | "snapshot" = "auto") {
  const { account_id, timeline_id } = await world.databaseRow(id);
  if (timeline_id === null) throw new Error(`Database ${id} has no past.`);
  const at = world.time.now;
  const copy = type === "snapshot" ? randomUUID() : null;
  if (copy !== null)
    await world.db
      .insertInto("copies")
      .values({
        account_id,
        id: copy,
        timeline_id,
        started_at: at,
        ended_at: at,
        gtid: "",
        bytes: 1,
        parts: 1,
        manifest_sha256: "c".repeat(64),
      })
      .execute();
  return world.db
    .insertInto("backups")
    .values({
      account_id,
      database_id: id,
      type,
      label: `${type}-${randomUUID().slice(0, 8)}`,
      timeline_id,
      copy_id: copy,
      point_at: at,
      created_at: at,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The next 00:00:00 UTC of the world. */
export const midnightAfter = (at: Date): Date =>
  new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1));

export const later = (world: World, seconds: number): void => {
  world.time.now = new Date(world.time.now.getTime() + seconds * 1000);
};
