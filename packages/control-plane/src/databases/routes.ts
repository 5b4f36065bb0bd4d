import {
  createMysqlDatabase,
  deleteMysqlDatabase,
  listDatabaseEngines,
  listDatabases,
  listDatabaseTypes,
  listMysqlDatabases,
  updateMysqlDatabase,
  viewDatabaseEngine,
  viewDatabaseType,
  viewMysqlCredentials,
  viewMysqlDatabase,
  viewMysqlSsl,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type RouteDeps, route } from "#identity/index.ts";
import { notFound } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { findEngineVersion, findPlan, listPlans, pageOfEngineVersions, pageOfPlans } from "#regions/index.ts";
import { type CreateDeps, createDatabase } from "./create-database.ts";
import { type CredentialsDeps, readCredentials } from "./credentials.ts";
import { findDatabase, listDatabasePage } from "./database-store.ts";
import { type DeleteDeps, deleteDatabase } from "./delete-database.ts";
import { viewOfEngine, viewOfType } from "./engine.ts";
import { readSsl, type SslDeps } from "./ssl.ts";
import { type UpdateDeps, updateDatabase } from "./update-database.ts";
import { viewInAllEngines, viewOfDatabase } from "./view.ts";

export type DatabaseRouteDeps = RouteDeps & CreateDeps & UpdateDeps & DeleteDeps & CredentialsDeps & SslDeps;

/** The writing steps of the API process, by name: where it can die. */
export const apiSteps = ["api.createMysqlDatabase", "api.updateMysqlDatabase", "api.deleteMysqlDatabase"] as const;

export function databaseRoutes(app: FastifyInstance, deps: DatabaseRouteDeps): void {
  const { db, zone } = deps;

  route(app, deps, listDatabaseEngines, async ({ page, filter }) => {
    const { rows, results } = await pageOfEngineVersions(db, { page, filter });
    const plans = await listPlans(db);
    return toPage(
      page,
      results,
      rows.map((version) => viewOfEngine(version, plans)),
    );
  });

  route(app, deps, viewDatabaseEngine, async ({ params }) => {
    const version = await findEngineVersion(db, params.engineId);
    if (version === undefined) throw notFound();
    return viewOfEngine(version, await listPlans(db));
  });

  route(app, deps, listDatabaseTypes, async ({ page, filter }) => {
    const { rows, results } = await pageOfPlans(db, { page, filter });
    return toPage(page, results, rows.map(viewOfType));
  });

  route(app, deps, viewDatabaseType, async ({ params }) => {
    const plan = await findPlan(db, params.typeId);
    if (plan === undefined) throw notFound();
    return viewOfType(plan);
  });

  route(app, deps, listDatabases, async ({ principal, page, filter }) => {
    const { rows, results } = await listDatabasePage(db, principal, page, filter);
    return toPage(
      page,
      results,
      rows.map((row) => viewInAllEngines(row, zone)),
    );
  });

  route(app, deps, listMysqlDatabases, async ({ principal, page, filter }) => {
    const { rows, results } = await listDatabasePage(db, principal, page, filter);
    return toPage(
      page,
      results,
      rows.map((row) => viewOfDatabase(row, zone)),
    );
  });

  route(app, deps, createMysqlDatabase, async ({ principal, body, once }) =>
    createDatabase(deps, principal, body, once),
  );

  route(app, deps, viewMysqlDatabase, async ({ principal, params }) =>
    viewOfDatabase(await findDatabase(db, principal.accountId, params.instanceId), zone),
  );

  route(app, deps, updateMysqlDatabase, async ({ principal, params, body }) =>
    viewOfDatabase(await updateDatabase(deps, principal, params.instanceId, body), zone),
  );

  route(app, deps, deleteMysqlDatabase, async ({ principal, params }) => {
    await deleteDatabase(deps, principal, params.instanceId);
    return {};
  });

  route(app, deps, viewMysqlCredentials, async ({ principal, params }) =>
    readCredentials(deps, principal, params.instanceId),
  );

  route(app, deps, viewMysqlSsl, async ({ principal, params }) => readSsl(deps, principal, params.instanceId));
}
