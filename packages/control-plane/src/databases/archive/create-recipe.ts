import { PROTOCOL, type Recipe, type RecipeReply, type RecipeRequest } from "@moorage/contract/agent";
import { addVerificationAlert, findServedNode } from "#fleet/index.ts";
import type { Clock } from "#platform/clock.ts";
import { audit } from "#platform/db/audit.ts";
import { type Db, transact, type Tx } from "#platform/db/database.ts";
import { DomainError, notFound } from "#platform/errors.ts";
import type { Objects } from "#platform/objects.ts";
import type { Sealer } from "#platform/seal.ts";
import { targetOf } from "../model/entity.ts";
import { findTimeline, type TimelineRow } from "../model/timeline-store.ts";
import { type LoadedHistory, loadHistory } from "./history-store.ts";
import { logOf, manifestOf, objectKey, partsOf } from "./object-names.ts";
import { NotRestorable, planRestore, type RestorePlan, type Target } from "./recipe.ts";
import { findScrub, type Scrub, scrubParts } from "./scrub.ts";
import { openArchiveKey } from "./keys.ts";
import { texts } from "./texts.ts";

type Deps = { db: Db; clock: Clock; objects: Objects; sealer: Sealer };

type Node = Awaited<ReturnType<typeof findServedNode>>;
type ResolvedTarget = { target: Target; point: Recipe["point"] };
type Plan = RestorePlan<LoadedHistory["copies"][number], LoadedHistory["logs"][number]>;
/** For each timeline in a restore plan: the location of its objects, and their key. */
type Sources = Map<string, { timeline: TimelineRow; identity: string }>;

/**
 * How a host restores the data of its node, or its newest restore point. The recipe contains the archive keys, so it is
 * audited.
 */
export async function createRecipe(
  { db, clock, objects, sealer }: Deps,
  hostId: number,
  { node, purpose }: RecipeRequest,
): Promise<RecipeReply> {
  let resolved: (ResolvedTarget & { served: Node }) | undefined;
  const found = await transact(db, "fleet.recipe", async (tx) => {
    const served = await findServedNode(tx, hostId, node);
    const { target, point } = await findTarget(tx, served, purpose);
    resolved = { served, target, point };
    const history = await loadHistory(tx, target.timeline);
    const plan = planRestore(history, target);
    await audit(tx, {
      at: clock(),
      account: served.account_id,
      actor: `host-${hostId}`,
      action: "read_archive_key",
      target: targetOf(served.database_id),
      detail: { node, purpose, ...point },
    });
    const sources = await openSources(tx, sealer, history, plan);
    return { plan, point, sources, scrub: purpose === "verify" ? await findScrub(tx, served, plan) : undefined };
  }).catch(async (error: unknown) => {
    if (purpose === "verify" && resolved !== undefined && error instanceof NotRestorable)
      await recordUnreachable(db, resolved, error, clock());
    throw error;
  });
  return { protocol: PROTOCOL, recipe: await sign(objects, found) };
}

/** A backup that no restore reaches has failed its verification. A database without any has nothing to verify yet. */
async function recordUnreachable(
  db: Db,
  { served, target, point }: ResolvedTarget & { served: Node },
  { message }: NotRestorable,
  at: Date,
): Promise<void> {
  const { account_id, database_id, id: node } = served;
  if (point.backup === undefined) return;
  const known = await db
    .selectFrom("notifications")
    .select("id")
    .where("account_id", "=", account_id)
    .where("entity_type", "=", "database")
    .where("entity_id", "=", String(database_id))
    .where("cause", "=", "verification")
    .executeTakeFirst();
  // The host asks again every hour.
  if (known !== undefined) return;
  const failed = { ok: false, message, timeline: target.timeline, point };
  await transact(db, "fleet.verified", (tx) => addVerificationAlert(tx, { account_id, database_id, node }, failed, at));
}

/** The state that a host is to restore. */
const findTarget = (tx: Tx, node: Node, purpose: RecipeRequest["purpose"]): Promise<ResolvedTarget> =>
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

async function copyTarget(tx: Tx, timeline: string, copy: string): Promise<ResolvedTarget> {
  const { ended_at } = await tx
    .selectFrom("copies")
    .select("ended_at")
    .where("id", "=", copy)
    .executeTakeFirstOrThrow();
  return { target: { timeline, copy }, point: { at: ended_at.toISOString() } };
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

async function openSources(tx: Tx, sealer: Sealer, { timelines }: LoadedHistory, plan: Plan): Promise<Sources> {
  const passed = new Set(plan.logs.map(({ log }) => log.timeline_id));
  if (plan.base.kind === "copy") passed.add(plan.base.copy.timeline_id);
  const sources: Sources = new Map();
  for (const timeline of timelines.filter(({ id }) => passed.has(id))) {
    const { account_id, database_id } = timeline;
    const identity = await openArchiveKey(tx, sealer, { account_id, id: database_id });
    sources.set(timeline.id, { timeline, identity });
  }
  return sources;
}

async function sign(
  objects: Objects,
  { plan, point, sources, scrub }: { plan: Plan; point: Recipe["point"]; sources: Sources; scrub: Scrub | undefined },
): Promise<Recipe> {
  const at = (timelineId: string) => {
    const source = sources.get(timelineId);
    if (source === undefined) throw new Error(`Timeline ${timelineId} is not in its own history.`);
    const { timeline, identity } = source;
    return { identity, url: (name: string): Promise<string> => objects.presignGet(objectKey(timeline, name)) };
  };
  return {
    point,
    base: plan.base.kind === "prepared" ? plan.base : await signCopy(plan.base.copy, at(plan.base.copy.timeline_id)),
    logs: await Promise.all(
      plan.logs.map(async ({ log: { timeline_id, name, sha256, bytes, gtid }, before }) => {
        const { identity, url } = at(timeline_id);
        const stored = { url: await url(logOf(name)), sha256, bytes };
        return { ...stored, name, identity, gtid, ...(before === undefined ? {} : { before: before.toISOString() }) };
      }),
    ),
    ...(scrub === undefined ? {} : { scrub: await scrubParts(objects, scrub) }),
  };
}

async function signCopy(
  { id, gtid, parts, manifest_sha256 }: LoadedHistory["copies"][number],
  { identity, url }: { identity: string; url: (name: string) => Promise<string> },
): Promise<Recipe["base"]> {
  return {
    kind: "copy",
    identity,
    gtid,
    manifest: { url: await url(manifestOf(id)), sha256: manifest_sha256 },
    parts: await Promise.all(partsOf(id, parts).map(url)),
  };
}
