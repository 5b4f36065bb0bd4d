import { toDate, toTimestamp } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import type { FastifyInstance } from "fastify";
import { planPatches } from "#databases/index.ts";
import { listPrices, type Price, type PriceVersion, setPrice } from "#metering/index.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import { DomainError } from "#platform/errors.ts";
import { toDollars, toMicros } from "#platform/money.ts";
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
import { command, type CommandDeps, operatorRoute } from "./operator-route.ts";
import { texts } from "./texts.ts";

/** What tenants can choose from: regions, plans, engine versions. */
export function catalogueCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  operatorRoute(app, contract.listRegions, async () => ({ data: (await listRegions(db)).map(viewOfRegion) }));
  command(app, deps, contract.saveRegion, async (tx, { body }) => {
    await saveRegion(tx, body);
    return body;
  });

  command(app, deps, contract.setOutage, async (tx, { params: { regionId: id }, body: { message } }) => {
    const region = (): Promise<RegionRow | undefined> => findRegion(tx, id);
    if ((await region()) === undefined) throw new DomainError("not-found", { reason: texts.regionUnknown({ id }) });
    await (message === null ? endOutage(tx, id) : saveOutage(tx, id, message, clock()));
    return viewOfRegion((await region()) as RegionRow);
  });

  operatorRoute(app, contract.listPlans, async () => {
    const rows = await pricedPlans(db, clock()).orderBy("class").orderBy("disk_mb").orderBy("id").execute();
    return { data: rows.map(viewOfPlan) };
  });
  command(app, deps, contract.savePlan, async (tx, { body: { price, ...plan } }) => {
    await requireSameSize(tx, plan);
    await savePlan(tx, plan, price === undefined ? undefined : toPrice(price), clock());
    return viewOfPlan(await pricedPlans(tx, clock()).where("plans.id", "=", plan.id).executeTakeFirstOrThrow());
  });
  priceCommands(app, deps);

  operatorRoute(app, contract.listEngines, async () => ({ data: await listEngineVersions(db) }));
  command(app, deps, contract.saveEngine, async (tx, { body: { id, image, prepared } }) => {
    const [engine = "", version = ""] = id.split("/");
    const saved = { id, engine, version, image, prepared };
    await saveEngineVersion(tx, saved);
    await planPatches(tx, id, image, clock());
    return saved;
  });
  command(app, deps, contract.setEngineImage, async (tx, { params: { engineId: id }, body: { image } }) => {
    const before = await findEngineVersion(tx, id);
    if (before === undefined) throw new DomainError("not-found", { reason: texts.engineVersionUnknown({ id }) });
    await saveEngineVersion(tx, { ...before, image });
    return { id, image, databases: await planPatches(tx, id, image, clock()) };
  });
}

const viewOfRegion = ({ outage_since, ...region }: RegionRow) => ({
  ...region,
  outage_since: outage_since === null ? null : toTimestamp(outage_since),
});

/** Deleting a database returns quota and reservations by the size of its plan, so that size is fixed. */
async function requireSameSize(tx: Tx, plan: Pick<PlanRow, "id" | "memory_mb" | "disk_mb" | "vcpus">): Promise<void> {
  const before = await findPlan(tx, plan.id);
  if (before === undefined) return;
  const { memory_mb: memoryMb, disk_mb: diskMb, vcpus } = before;
  if (memoryMb === plan.memory_mb && diskMb === plan.disk_mb && vcpus === plan.vcpus) return;
  throw new DomainError("wrong-state", { reason: texts.planSizeFixed({ id: plan.id, memoryMb, diskMb, vcpus }) });
}

const viewOfPlan = ({
  id,
  label,
  class: kind,
  memory_mb,
  disk_mb,
  vcpus,
  deprecated,
  ...price
}: PricedPlan): contract.Plan => ({
  id,
  label,
  class: kind,
  memory_mb,
  disk_mb,
  vcpus,
  deprecated,
  price: viewOfPrice(price),
});

function priceCommands(app: FastifyInstance, deps: CommandDeps): void {
  const { db, clock } = deps;

  operatorRoute(app, contract.listPlanPrices, async ({ params: { planId } }) => {
    await requirePlan(db, planId);
    return { data: (await listPrices(db, planId)).map(viewOfVersion) };
  });
  command(app, deps, contract.setPlanPrice, async (tx, { params: { planId }, body: { from, ...price } }) => {
    await requirePlan(tx, planId);
    const start = from === undefined ? undefined : toDate(from);
    return viewOfVersion(await setPrice(tx, planId, toPrice(price), { from: start, now: clock() }));
  });
}

async function requirePlan(db: Db | Tx, id: string): Promise<void> {
  if ((await findPlan(db, id)) === undefined) throw new DomainError("not-found", { reason: texts.planUnknown({ id }) });
}

const toPrice = (price: contract.NewPlanPrice): Price => ({
  hourly_micros: toMicros(price.hourly),
  monthly_micros: toMicros(price.monthly),
  suspended_hourly_micros: toMicros(price.suspended_hourly),
  suspended_monthly_micros: toMicros(price.suspended_monthly),
});

const viewOfVersion = (version: PriceVersion) => ({ from: toTimestamp(version.valid_from), ...viewOfPrice(version) });

const viewOfPrice = (price: Price) => ({
  hourly: toDollars(price.hourly_micros),
  monthly: toDollars(price.monthly_micros),
  suspended_hourly: toDollars(price.suspended_hourly_micros),
  suspended_monthly: toDollars(price.suspended_monthly_micros),
});
