import type { FastifyInstance } from "fastify";
import type { Selectable } from "kysely";
import { z } from "zod";
import type { Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import { DomainError } from "#platform/errors.ts";
import {
  findEngineVersion,
  findPlan,
  listEngineVersions,
  listRegions,
  type Plan as PlanRow,
  saveEngineVersion,
  savePlan,
  saveRegion,
} from "#regions/index.ts";
import { planPatches } from "#databases/index.ts";
import { command, type CommandDeps } from "./command.ts";
import { Amount, Name } from "./fields.ts";
import { Dollars, toDollars, toMicros } from "./micro-dollars.ts";

const Region = z.object({ id: Name, label: Name, country: z.string().length(2) });
const Plan = z.object({
  id: Name,
  label: Name,
  class: Name,
  memory_mb: Amount,
  disk_mb: Amount,
  vcpus: z.int().positive(),
  price: z.object({ hourly: Dollars, monthly: Dollars }).default({ hourly: "0", monthly: "0" }),
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

  app.get("/admin/regions", async () => ({ data: await listRegions(db) }));
  command(app, deps, { path: "/admin/regions", body: Region }, async (tx, region) => {
    await saveRegion(tx, region);
    return region;
  });

  app.get("/admin/plans", async () => {
    const rows = await db.selectFrom("plans").selectAll().orderBy("class").orderBy("disk_mb").orderBy("id").execute();
    return { data: rows.map(viewOfPlan) };
  });
  command(app, deps, { path: "/admin/plans", body: Plan }, async (tx, { price, ...plan }) => {
    await requireSameSize(tx, plan);
    const row = { ...plan, hourly_micros: toMicros(price.hourly), monthly_micros: toMicros(price.monthly) };
    await savePlan(tx, row);
    return viewOfPlan(row);
  });

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
    if (before === undefined)
      throw new DomainError("not-found", {
        reason: `No engine version has the id ${id}. See them with: moorage engine list`,
      });
    await saveEngineVersion(tx, { ...before, image });
    return { id, image, databases: await planPatches(tx, id, image, clock()) };
  });
}

/** What a database took from its account and its hosts is given back by the size of its plan, so that size is fixed. */
async function requireSameSize(tx: Tx, plan: Pick<PlanRow, "id" | "memory_mb" | "disk_mb" | "vcpus">): Promise<void> {
  const before = await findPlan(tx, plan.id);
  if (before === undefined) return;
  if (before.memory_mb === plan.memory_mb && before.disk_mb === plan.disk_mb && before.vcpus === plan.vcpus) return;
  throw new DomainError("wrong-state", {
    reason: `Plan ${plan.id} has ${before.memory_mb} MB of memory, ${before.disk_mb} MB of disk and ${before.vcpus} processors, and keeps them. Make a new plan, and set this one to deprecated.`,
  });
}

const viewOfPlan = ({ hourly_micros, monthly_micros, ...plan }: Selectable<Tables["plans"]>) => ({
  ...plan,
  price: { hourly: toDollars(hourly_micros), monthly: toDollars(monthly_micros) },
});
