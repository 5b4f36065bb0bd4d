import type { Recipe, RecipeRequest } from "@moorage/contract/agent";
import type { findServedNode } from "#fleet/index.ts";
import type { Tx } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import { findTimeline } from "../timeline-store.ts";
import type { Target } from "./recipe.ts";
import { texts } from "./texts.ts";

type Node = Awaited<ReturnType<typeof findServedNode>>;
export type ResolvedTarget = { target: Target; point: Recipe["point"] };

/** The state that a host is to restore. */
export const findTarget = (tx: Tx, node: Node, purpose: RecipeRequest["purpose"]): Promise<ResolvedTarget> =>
  purpose === "data" ? beginningOf(tx, node) : newestPoint(tx, node);

/** The point where the desired timeline branched off from its parent. */
async function beginningOf(tx: Tx, { desired_spec }: Node): Promise<ResolvedTarget> {
  if (desired_spec?.data === undefined) throw notFound();
  const { parent_id, parent_copy_id, parent_until, last_log } = await findTimeline(tx, desired_spec.data.timeline);
  if (parent_id === null) throw notFound();
  // A host that lost its volume would restore the start of the timeline, and nobody would notice that everything since
  // is gone.
  if (last_log > 0) throw new DomainError("wrong-state", { reason: texts.timelineWritten() });
  if (parent_copy_id !== null) return copyTarget(tx, parent_id, parent_copy_id);
  if (parent_until === null) throw notFound();
  return { target: { timeline: parent_id, until: parent_until }, point: { at: parent_until.toISOString() } };
}

/** The newest daily point; without one the newest snapshot; without either everything that is archived. */
async function newestPoint(tx: Tx, { account_id, database_id, desired_spec }: Node): Promise<ResolvedTarget> {
  const backup = await tx
    .selectFrom("backups")
    .select(["id", "timeline_id", "copy_id", "point_at"])
    .where("account_id", "=", account_id)
    .where("database_id", "=", database_id)
    .orderBy("type") // auto, then snapshot
    .orderBy("point_at", "desc")
    .limit(1)
    .executeTakeFirst();
  if (backup === undefined) {
    if (desired_spec?.data === undefined) throw notFound();
    const { id, archived_through } = await findTimeline(tx, desired_spec.data.timeline);
    return { target: { timeline: id, until: archived_through }, point: { at: archived_through.toISOString() } };
  }
  const { id, timeline_id, copy_id, point_at } = backup;
  const target = copy_id === null ? { until: point_at } : { copy: copy_id };
  return { target: { timeline: timeline_id, ...target }, point: { backup: id, at: point_at.toISOString() } };
}

async function copyTarget(tx: Tx, timeline: string, copy: string): Promise<ResolvedTarget> {
  const { ended_at } = await tx
    .selectFrom("copies")
    .select("ended_at")
    .where("id", "=", copy)
    .executeTakeFirstOrThrow();
  return { target: { timeline, copy }, point: { at: ended_at.toISOString() } };
}
