import {
  createMysqlDatabase,
  deleteMysqlDatabase,
  listDatabaseEngines,
  listDatabases,
  listDatabaseTypes,
  listMysqlDatabases,
  patchMysqlDatabase,
  resetMysqlCredentials,
  restoreMysqlBackup,
  resumeMysqlDatabase,
  suspendMysqlDatabase,
  updateMysqlDatabase,
  viewDatabaseEngine,
  viewDatabaseType,
  viewMysqlCredentials,
  viewMysqlDatabase,
  viewMysqlMetric,
  viewMysqlSsl,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type RouteDeps, route } from "#identity/index.ts";
import { notFound } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { findEngineId, findPricedPlan, listPlans, pageOfEngineIds, pageOfPlans } from "#regions/index.ts";
import { type BackupRouteDeps, backupRoutes, backupSteps } from "./backups/routes.ts";
import { changeSteps } from "./changes/change-database.ts";
import { type FailoverRouteDeps, failoverRoutes, failoverSteps } from "./clusters/health/routes.ts";
import { type CreateDeps, createDatabase, faultsOfPart } from "./create-database.ts";
import { type CredentialsDeps, readCredentials } from "./credentials.ts";
import { findDatabase, listDatabasePage } from "./database-store.ts";
import { type DeleteDeps, deleteDatabase } from "./delete-database.ts";
import { viewOfEngine, viewOfType } from "./engine.ts";
import { type MetricDeps, viewMetric } from "./metrics/view-metric.ts";
import { patchDatabase } from "./patch-database.ts";
import { resetCredentials } from "./reset-credentials.ts";
import { resumeDatabase } from "./resume-database.ts";
import { readSsl, type SslDeps } from "./ssl.ts";
import { suspendDatabase } from "./suspend-database.ts";
import { type RestoreDeps, restoreDatabase } from "./timelines/restore-database.ts";
import { type UpdateDeps, updateDatabase } from "./update-database.ts";
import { viewInAllEngines, viewOfDatabase } from "./view.ts";

export type DatabaseRouteDeps = RouteDeps &
  CreateDeps &
  UpdateDeps &
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
  ...changeSteps,
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

  route(app, deps, suspendMysqlDatabase, async ({ principal, params, idempotency }) => {
    await suspendDatabase(deps, principal, params.instanceId, idempotency);
    return {};
  });

  route(app, deps, resumeMysqlDatabase, async ({ principal, params, idempotency }) => {
    await resumeDatabase(deps, principal, params.instanceId, idempotency);
    return {};
  });

  route(app, deps, patchMysqlDatabase, async ({ principal, params, idempotency }) => {
    await patchDatabase(deps, principal, params.instanceId, idempotency);
    return {};
  });

  route(app, deps, resetMysqlCredentials, async ({ principal, params, idempotency }) => {
    await resetCredentials(deps, principal, params.instanceId, idempotency);
    return {};
  });

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
