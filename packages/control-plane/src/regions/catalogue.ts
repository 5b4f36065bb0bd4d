import type { Selectable } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import type { Tables } from "#platform/db/tables.ts";

export type Region = Selectable<Tables["regions"]>;
export type Plan = Selectable<Tables["plans"]>;
export type EngineVersion = Selectable<Tables["engine_versions"]>;

export const findRegion = (db: Db | Tx, id: string): Promise<Region | undefined> =>
  db.selectFrom("regions").selectAll().where("id", "=", id).executeTakeFirst();

export const findPlan = (db: Db | Tx, id: string): Promise<Plan | undefined> =>
  db.selectFrom("plans").selectAll().where("id", "=", id).executeTakeFirst();

export const findEngineVersion = (db: Db | Tx, id: string): Promise<EngineVersion | undefined> =>
  db.selectFrom("engine_versions").selectAll().where("id", "=", id).executeTakeFirst();

export const listRegions = (db: Db | Tx): Promise<Region[]> =>
  db.selectFrom("regions").selectAll().orderBy("id").execute();
export const listPlans = (db: Db | Tx): Promise<Plan[]> =>
  db.selectFrom("plans").selectAll().orderBy("disk_mb").orderBy("id").execute();
export const listEngineVersions = (db: Db | Tx): Promise<EngineVersion[]> =>
  db.selectFrom("engine_versions").selectAll().orderBy("id").execute();

/** The operator's; each repeatable by id. */
export const saveRegion = (tx: Tx, region: Region): Promise<unknown> =>
  tx
    .insertInto("regions")
    .values(region)
    .onConflict((conflict) => conflict.column("id").doUpdateSet(region))
    .execute();
export const savePlan = (tx: Tx, plan: Plan): Promise<unknown> =>
  tx
    .insertInto("plans")
    .values(plan)
    .onConflict((conflict) => conflict.column("id").doUpdateSet(plan))
    .execute();
export const saveEngineVersion = (tx: Tx, version: EngineVersion): Promise<unknown> =>
  tx
    .insertInto("engine_versions")
    .values(version)
    .onConflict((conflict) => conflict.column("id").doUpdateSet(version))
    .execute();
