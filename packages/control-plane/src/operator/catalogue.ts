import { toTimestamp } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import {
  endOutage,
  findEngineVersion,
  findPlan,
  findRegion,
  listEngineVersions,
  listRegions,
  type Plan as PlanRow,
  type PricedPlan,
  pricedPlans,
  type Region as RegionRow,
  saveEngineVersion,
  saveOutage,
  savePlan,
  saveRegion,
} from "#regions/index.ts";
import { planPatches } from "#databases/index.ts";
import { command, type CommandDeps } from "./command.ts";
import { Amount, Name } from "./fields.ts";
import { PlanPrice, priceCommands, toPrice, viewOfPrice } from "./prices.ts";
import { texts } from "./texts.ts";

const Region = z.object({ id: Name, label: Name, country: z.string().length(2) });
/** Shown to tenants while the outage lasts; null ends it. */
const Outage = z.object({ message: z.string().min(1).max(1024).nullable() });
const Plan = z.object({
  id: Name,
  label: Name,
  class: Name,
  memory_mb: Amount,
  disk_mb: Amount,
  vcpus: z.int().positive(),
  /** If omitted, a plan keeps its price; a new one is free. */
  price: PlanPrice.optional(),
  deprecated: z.boolean().default(false),
});
const Image = z.object({ image: z.hex().length(64) });
const Engine = Image.extend({
  id: z.string().regex(/^mysql\/[\w.]+$/, "mysql/<version>"),
  prepared: z.hex().length(64),
});

/** What tenants can choose from: regions, plans, engine versions. */
export function catalogueCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  app.get("/admin/regions", async () => ({ data: (await listRegions(db)).map(viewOfRegion) }));
  command(app, deps, { path: "/admin/regions", body: Region }, async (tx, region) => {
    await saveRegion(tx, region);
    return region;
  });

  command(app, deps, { path: "/admin/regions/:id/outage", body: Outage }, async (tx, { message }, { id = "" }) => {
    const region = (): Promise<RegionRow | undefined> => findRegion(tx, id);
    if ((await region()) === undefined) throw new DomainError("not-found", { reason: texts.regionUnknown({ id }) });
    await (message === null ? endOutage(tx, id) : saveOutage(tx, id, message, clock()));
    return viewOfRegion((await region()) as RegionRow);
  });

  app.get("/admin/plans", async () => {
    const rows = await pricedPlans(db, clock()).orderBy("class").orderBy("disk_mb").orderBy("id").execute();
    return { data: rows.map(viewOfPlan) };
  });
  command(app, deps, { path: "/admin/plans", body: Plan }, async (tx, { price, ...plan }) => {
    await requireSameSize(tx, plan);
    await savePlan(tx, plan, price === undefined ? undefined : toPrice(price), clock());
    return viewOfPlan(await pricedPlans(tx, clock()).where("plans.id", "=", plan.id).executeTakeFirstOrThrow());
  });
  priceCommands(app, deps);

  app.get("/admin/engines", async () => ({ data: await listEngineVersions(db) }));
  command(app, deps, { path: "/admin/engines", body: Engine }, async (tx, { id, image, prepared }) => {
    const [engine = "", version = ""] = id.split("/");
    const saved = { id, engine, version, image, prepared };
    await saveEngineVersion(tx, saved);
    await planPatches(tx, id, image, clock());
    return saved;
  });
  command(app, deps, { path: "/admin/engines/:engine/:version/image", body: Image }, async (tx, { image }, params) => {
    const id = `${params["engine"]}/${params["version"]}`;
    const before = await findEngineVersion(tx, id);
    if (before === undefined) throw new DomainError("not-found", { reason: texts.engineVersionUnknown({ id }) });
    await saveEngineVersion(tx, { ...before, image });
    return { id, image, databases: await planPatches(tx, id, image, clock()) };
  });
}

/** Deleting a database returns quota and reservations by the size of its plan, so that size is fixed. */
async function requireSameSize(tx: Tx, plan: Pick<PlanRow, "id" | "memory_mb" | "disk_mb" | "vcpus">): Promise<void> {
  const before = await findPlan(tx, plan.id);
  if (before === undefined) return;
  const { memory_mb: memoryMb, disk_mb: diskMb, vcpus } = before;
  if (memoryMb === plan.memory_mb && diskMb === plan.disk_mb && vcpus === plan.vcpus) return;
  throw new DomainError("wrong-state", { reason: texts.planSizeFixed({ id: plan.id, memoryMb, diskMb, vcpus }) });
}

const viewOfPlan = ({ id, label, class: kind, memory_mb, disk_mb, vcpus, deprecated, ...price }: PricedPlan) => ({
  id,
  label,
  class: kind,
  memory_mb,
  disk_mb,
  vcpus,
  deprecated,
  price: viewOfPrice(price),
});

const viewOfRegion = ({ outage_since, ...region }: RegionRow) => ({
  ...region,
  outage_since: outage_since === null ? null : toTimestamp(outage_since),
});
