import { type Insertable, type Selectable, sql } from "kysely";
import type { Db, Tx } from "#platform/db/database.ts";
import { listPage } from "#platform/db/list-page.ts";
import type { Tables } from "#platform/db/tables.ts";
import type { Filter } from "#platform/filter.ts";
import type { PageRequest } from "#platform/http/page.ts";

/** What the operator offers: regions, plans, engine versions. Few rows, read by everybody. */
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
  db.selectFrom("plans").selectAll().where("deprecated", "=", false).orderBy("disk_mb").orderBy("id").execute();
export const listEngineVersions = (db: Db | Tx): Promise<EngineVersion[]> =>
  db.selectFrom("engine_versions").selectAll().orderBy("id").execute();

type Asked = { page: PageRequest; filter: Filter };

export const pageOfRegions = (db: Db, asked: Asked) =>
  listPage(db.selectFrom("regions").selectAll(), {
    ...asked,
    columns: { country: sql.ref("country") },
    lastly: { by: "id" },
  });
export const pageOfPlans = (db: Db, asked: Asked) =>
  listPage(db.selectFrom("plans").selectAll(), {
    ...asked,
    columns: { deprecated: sql.ref("deprecated") },
    lastly: { by: "id" },
  });
export const pageOfEngineVersions = (db: Db, asked: Asked) =>
  listPage(db.selectFrom("engine_versions").selectAll(), {
    ...asked,
    columns: { engine: sql.ref("engine"), version: sql.ref("version") },
    lastly: { by: "id" },
  });

/** The operator's; each repeatable by id. */
export const saveRegion = (tx: Tx, region: Region): Promise<unknown> =>
  tx
    .insertInto("regions")
    .values(region)
    .onConflict((conflict) => conflict.column("id").doUpdateSet(region))
    .execute();
export const savePlan = (tx: Tx, plan: Insertable<Tables["plans"]>): Promise<unknown> =>
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
