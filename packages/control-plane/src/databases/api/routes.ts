import {
  createMysqlDatabase,
  deleteMysqlDatabase,
  listDatabaseEngines,
  listDatabases,
  listDatabaseTypes,
  listMysqlDatabases,
  restoreMysqlBackup,
  updateMysqlDatabase,
  viewDatabaseEngine,
  viewDatabaseType,
  viewMysqlCredentials,
  viewMysqlDatabase,
  viewMysqlMetric,
  viewMysqlSsl,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import { notFound } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { findEngineId, findPricedPlan, listPlans, pageOfEngineIds, pageOfPlans } from "#regions/index.ts";
import { type BackupRouteDeps, backupRoutes, backupSteps } from "../backups/routes.ts";
import { type FailoverRouteDeps, failoverRoutes, failoverSteps } from "../clusters/health/routes.ts";
import { findDatabase, listDatabasePage } from "../model/database-store.ts";
import { viewOfEngine, viewOfType } from "../model/engine.ts";
import { viewInAllEngines, viewOfDatabase } from "../model/view.ts";
import { deleteDatabase, type DeleteDeps } from "../provision/delete-database.ts";
import { restoreDatabase, type RestoreDeps } from "../timelines/restore-database.ts";
import { type ChangeDeps, changeRoute, isRequested, stepOf } from "../updates/change-database.ts";
import { columnChanges } from "../updates/table.ts";
import { updateDatabase } from "../updates/update-database.ts";
import { createDatabase, type CreateDeps, faultsOfPart } from "./create-database.ts";
import { type CredentialsDeps, readCredentials, readSsl, type SslDeps } from "./credentials.ts";
import { type MetricDeps, viewMetric } from "./view-metric.ts";

export type DatabaseRouteDeps = RouteDeps &
  ChangeDeps &
  CreateDeps &
  DeleteDeps &
  CredentialsDeps &
  SslDeps &
  MetricDeps &
  BackupRouteDeps &
  FailoverRouteDeps &
  RestoreDeps;

/** The writing steps of the API process, at which a fault drill can kill it. */
export const apiSteps = [
  "api.createMysqlDatabase",
  "api.updateMysqlDatabase",
  "api.deleteMysqlDatabase",
  "api.restoreMysqlBackup",
  ...columnChanges.filter(isRequested).map(stepOf),
  ...backupSteps,
  ...failoverSteps,
] as const;

export function databaseRoutes(app: FastifyInstance, deps: DatabaseRouteDeps): void {
  const { db, clock, zone } = deps;

  route(app, deps, listDatabaseEngines, async ({ page, filter }) => {
    const { rows, results } = await pageOfEngineIds(db, { page, filter });
    const plans = await listPlans(db);
    return toPage(
      page,
      results,
      rows.map((version) => viewOfEngine(version, plans)),
    );
  });

  route(app, deps, viewDatabaseEngine, async ({ params }) => {
    const version = await findEngineId(db, params.engineId);
    if (version === undefined) throw notFound();
    return viewOfEngine(version, await listPlans(db));
  });

  route(app, deps, listDatabaseTypes, async ({ page, filter }) => {
    const { rows, results } = await pageOfPlans(db, { page, filter }, clock());
    return toPage(page, results, rows.map(viewOfType));
  });

  route(app, deps, viewDatabaseType, async ({ params }) => {
    const plan = await findPricedPlan(db, params.typeId, clock());
    if (plan === undefined) throw notFound();
    return viewOfType(plan);
  });

  route(app, deps, listDatabases, async ({ principal, page, filter }) => {
    const { rows, results } = await listDatabasePage(db, principal, page, filter);
    return toPage(
      page,
      results,
      rows.map((row) => viewInAllEngines(row, zone, clock())),
    );
  });

  route(app, deps, listMysqlDatabases, async ({ principal, page, filter }) => {
    const { rows, results } = await listDatabasePage(db, principal, page, filter);
    return toPage(
      page,
      results,
      rows.map((row) => viewOfDatabase(row, zone, clock())),
    );
  });

  route(
    app,
    deps,
    createMysqlDatabase,
    async ({ principal, body, idempotency }) => createDatabase(deps, principal, body, idempotency),
    undefined,
    (part) => faultsOfPart(deps.offers, part),
  );

  route(app, deps, viewMysqlDatabase, async ({ principal, params }) =>
    viewOfDatabase(await findDatabase(db, principal.accountId, params.instanceId), zone, clock()),
  );

  route(app, deps, updateMysqlDatabase, async ({ principal, params, body }) =>
    viewOfDatabase(await updateDatabase(deps, principal, params.instanceId, body), zone, clock()),
  );

  route(app, deps, deleteMysqlDatabase, async ({ principal, params }) => {
    await deleteDatabase(deps, principal, params.instanceId);
    return {};
  });

  for (const change of columnChanges.filter(isRequested)) changeRoute(app, deps, change);

  route(app, deps, restoreMysqlBackup, async ({ principal, params, idempotency }) =>
    restoreDatabase(deps, principal, params, idempotency),
  );

  route(app, deps, viewMysqlCredentials, async ({ principal, params }) =>
    readCredentials(deps, principal, params.instanceId),
  );

  route(app, deps, viewMysqlMetric, async ({ principal, params, query }) => viewMetric(deps, principal, params, query));

  backupRoutes(app, deps);
  failoverRoutes(app, deps);

  route(app, deps, viewMysqlSsl, async ({ principal, params }) => readSsl(deps, principal, params.instanceId));
}
