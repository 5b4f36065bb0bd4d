import { type Insertable, type Selectable, sql } from "kysely";
import { free, keepPrice, type Price, pricesAt } from "#metering/index.ts";
import type { Clock } from "#platform/clock.ts";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { Filter } from "#platform/filter/filter.ts";
import { listPage, type PageRequest } from "#platform/http/page.ts";

/** How long the offers are cached. */
const KEPT_MS = 5_000;

/** What the operator offers. Few rows, read by everybody. */
export type Region = Awaited<ReturnType<ReturnType<typeof regionRows>["executeTakeFirstOrThrow"]>>;
export type Plan = Selectable<Tables["plans"]>;
export type EngineVersion = Selectable<Tables["engine_versions"]>;
export type PricedPlan = Awaited<ReturnType<ReturnType<typeof pricedPlans>["executeTakeFirstOrThrow"]>>;
export type EngineId = Pick<EngineVersion, "id" | "engine" | "version">;

type ListRequest = { page: PageRequest; filter: Filter };

export const findRegion = (db: Db | Tx, id: string): Promise<Region | undefined> =>
  regionRows(db).where("regions.id", "=", id).executeTakeFirst();

export const findPlan = (db: Db | Tx, id: string): Promise<Plan | undefined> =>
  db.selectFrom("plans").selectAll().where("id", "=", id).executeTakeFirst();

export const findEngineVersion = (db: Db | Tx, id: string): Promise<EngineVersion | undefined> =>
  db.selectFrom("engine_versions").selectAll().where("id", "=", id).executeTakeFirst();

export const listRegions = (db: Db | Tx): Promise<Region[]> => regionRows(db).orderBy("regions.id").execute();

export const listPlans = (db: Db | Tx): Promise<Plan[]> =>
  db.selectFrom("plans").selectAll().where("deprecated", "=", false).orderBy("disk_mb").orderBy("id").execute();

export const listEngineVersions = (db: Db | Tx): Promise<EngineVersion[]> =>
  db.selectFrom("engine_versions").selectAll().orderBy("id").execute();

export const pageOfRegions = (db: Db, request: ListRequest) =>
  listPage(regionRows(db), {
    ...request,
    columns: { country: sql.ref("regions.country") },
    lastly: { by: "regions.id" },
  });

/** With the message of its outage, if any, and whether a host there accepts databases. */
const regionRows = (db: Db | Tx) =>
  db
    .selectFrom("regions")
    .leftJoin("outages", "outages.region", "regions.id")
    .selectAll("regions")
    .select(["outages.message as outage", "outages.since as outage_since"])
    .select(({ exists, selectFrom }) =>
      exists(
        selectFrom("hosts")
          .select("hosts.id")
          .whereRef("hosts.region", "=", "regions.id")
          .where("hosts.state", "=", "active"),
      )
        .$castTo<boolean>()
        .as("has_host"),
    );

/** Whether a database can be created there: a host accepts it, and there is no outage. */
export const takesDatabases = ({ has_host, outage }: Pick<Region, "has_host" | "outage">): boolean =>
  has_host && outage === null;

export const findPricedPlan = (db: Db, id: string, now: Date): Promise<PricedPlan | undefined> =>
  pricedPlans(db, now).where("plans.id", "=", id).executeTakeFirst();

export const pageOfPlans = (db: Db, request: ListRequest, now: Date) =>
  listPage(pricedPlans(db, now), {
    ...request,
    columns: { deprecated: sql.ref("plans.deprecated") },
    lastly: { by: "plans.id" },
  });

/** With the current price. The plan's own columns hold its first price, for the previous release. */
export const pricedPlans = (db: Db | Tx, now: Date) =>
  db
    .selectFrom("plans")
    .leftJoin(pricesAt(db, now).as("price"), "price.plan", "plans.id")
    .select(["plans.id", "plans.label", "plans.class", "plans.memory_mb", "plans.disk_mb", "plans.vcpus"])
    .select(["plans.deprecated"])
    .select(({ fn, val, ref }) => [
      fn.coalesce("price.hourly_micros", "plans.hourly_micros").as("hourly_micros"),
      fn.coalesce("price.monthly_micros", "plans.monthly_micros").as("monthly_micros"),
      fn.coalesce("price.suspended_hourly_micros", val(0)).as("suspended_hourly_micros"),
      fn.coalesce(ref("price.suspended_monthly_micros"), val(0)).as("suspended_monthly_micros"),
    ]);

export const findEngineId = (db: Db, id: string): Promise<EngineId | undefined> =>
  engineIds(db).where("id", "=", id).executeTakeFirst();

export const pageOfEngineIds = (db: Db, request: ListRequest) =>
  listPage(engineIds(db), {
    ...request,
    columns: { engine: sql.ref("engine"), version: sql.ref("version") },
    lastly: { by: "id" },
  });

/** Each version that the operator offers, and its major version: `mysql/9` beside `mysql/9.7.4`. */
const engineIds = (db: Db) =>
  db
    .with("engine_ids", (query) =>
      query
        .selectFrom("engine_versions")
        .select(["id", "engine", "version"])
        .union(
          query
            .selectFrom("engine_versions")
            .select([
              sql<string>`engine || '/' || split_part(version, '.', 1)`.as("id"),
              "engine",
              sql<string>`split_part(version, '.', 1)`.as("version"),
            ]),
        ),
    )
    .selectFrom("engine_ids")
    .selectAll();

/** For the operator; each is repeatable by id. */
export const saveRegion = (tx: Tx, region: Insertable<Tables["regions"]>): Promise<unknown> =>
  tx
    .insertInto("regions")
    .values(region)
    .onConflict((conflict) => conflict.column("id").doUpdateSet(region))
    .execute();

/** The start time stays while the outage lasts, even if the message changes. */
export const saveOutage = (tx: Tx, region: string, message: string, since: Date): Promise<unknown> =>
  tx
    .insertInto("outages")
    .values({ region, message, since })
    .onConflict((conflict) => conflict.column("region").doUpdateSet({ message }))
    .execute();

export const endOutage = (tx: Tx, region: string): Promise<unknown> =>
  tx.deleteFrom("outages").where("region", "=", region).execute();

/** Without a price an existing plan keeps its own, and a new plan is free. */
export async function savePlan(
  tx: Tx,
  plan: Omit<Insertable<Tables["plans"]>, "hourly_micros" | "monthly_micros">,
  price: Price | undefined,
  now: Date,
): Promise<void> {
  const { hourly_micros, monthly_micros } = price ?? free;
  await tx
    .insertInto("plans")
    .values({ ...plan, hourly_micros, monthly_micros })
    .onConflict((conflict) => conflict.column("id").doUpdateSet(plan))
    .execute();
  await keepPrice(tx, plan.id, price, now);
}

export const saveEngineVersion = (tx: Tx, version: EngineVersion): Promise<unknown> =>
  tx
    .insertInto("engine_versions")
    .values(version)
    .onConflict((conflict) => conflict.column("id").doUpdateSet(version))
    .execute();

export type Offered = { regions: Region[]; plans: Plan[]; engineVersions: EngineVersion[] };
export type Offers = {
  /** At most five seconds old: an offer that the operator withdraws is available that much longer. */
  recent(): Promise<Offered>;
  /** Read from the database: for an offer that the cached one lacks. */
  now(): Promise<Offered>;
};

/** What can be created, cached in memory: every create reads it, and only an operator changes it. */
export function createOffers({ db, clock }: { db: Db; clock: Clock }): Offers {
  let kept: { offered: Offered; until: number } | undefined;
  const now = async (): Promise<Offered> => {
    const [regions, plans, engineVersions] = await Promise.all([
      listRegions(db),
      listPlans(db),
      listEngineVersions(db),
    ]);
    const offered = { regions, plans, engineVersions };
    kept = { offered, until: clock().getTime() + KEPT_MS };
    return offered;
  };
  return {
    now,
    recent: async () => (kept !== undefined && kept.until > clock().getTime() ? kept.offered : now()),
  };
}
