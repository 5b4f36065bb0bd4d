import { PROTOCOL, type Recipe, type RecipeReply, type RecipeRequest } from "@moorage/contract/agent";
import { findServedNode } from "#fleet/index.ts";
import { audit } from "#platform/audit.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { transact } from "#platform/db/transact.ts";
import type { Objects } from "#platform/objects.ts";
import type { Sealer } from "#platform/seal.ts";
import { targetOf } from "../entity.ts";
import type { TimelineRow } from "../timeline-store.ts";
import { openArchiveKey } from "./archive-key.ts";
import { type LoadedHistory, loadHistory } from "./history-store.ts";
import { logOf, manifestOf, objectKey, partsOf } from "./object-names.ts";
import { planRestore, type RestorePlan } from "./recipe.ts";
import { findTarget } from "./restore-target.ts";
import { findScrub, type Scrub, scrubParts } from "./scrub.ts";

type Deps = { db: Db; clock: Clock; objects: Objects; sealer: Sealer };
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
  const found = await transact(db, "fleet.recipe", async (tx) => {
    const served = await findServedNode(tx, hostId, node);
    const { target, point } = await findTarget(tx, served, purpose);
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
  });
  return { protocol: PROTOCOL, recipe: await sign(objects, found) };
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
