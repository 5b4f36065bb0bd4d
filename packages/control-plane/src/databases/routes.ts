import {
  createMysqlDatabase,
  deleteMysqlDatabase,
  listDatabaseEngines,
  listMysqlDatabases,
  viewMysqlCredentials,
  viewMysqlDatabase,
} from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type Authenticate, type Principal, route } from "#identity/index.ts";
import { notFound } from "#platform/errors.ts";
import { offsetOf, toPage } from "#platform/http/page.ts";
import { listEngineVersions, listPlans } from "#regions/index.ts";
import { type CreateDeps, createDatabase } from "./create-database.ts";
import { type CredentialsDeps, readCredentials } from "./credentials.ts";
import { findDatabase, listDatabasePage } from "./database-store.ts";
import { type DeleteDeps, deleteDatabase } from "./delete-database.ts";
import { viewOfEngine } from "./engine.ts";
import { viewOfDatabase } from "./view.ts";

export type DatabaseRouteDeps = CreateDeps & DeleteDeps & CredentialsDeps & { authenticate: Authenticate };

/** The writing steps of the API process, by name: where it can die. */
export const apiSteps = ["api.createMysqlDatabase", "api.deleteMysqlDatabase"] as const;

export function databaseRoutes(app: FastifyInstance, deps: DatabaseRouteDeps): void {
  const { db, authenticate } = deps;

  route(app, authenticate, listDatabaseEngines, async ({ page }) => {
    const [versions, plans] = [await listEngineVersions(db), await listPlans(db)];
    const data = versions
      .slice(offsetOf(page), offsetOf(page) + page.pageSize)
      .map((version) => viewOfEngine(version, plans));
    return toPage(page, versions.length, data);
  });

  route(app, authenticate, listMysqlDatabases, async ({ principal, page }) => {
    if (principal.restricted) return toPage(page, 0, []);
    const { rows, results } = await listDatabasePage(db, principal.accountId, page);
    return toPage(page, results, rows.map(viewOfDatabase));
  });

  route(app, authenticate, createMysqlDatabase, async ({ principal, body }) =>
    viewOfDatabase(await createDatabase(deps, principal, body)),
  );

  route(app, authenticate, viewMysqlDatabase, async ({ principal, params }) => {
    requireVisible(principal);
    return viewOfDatabase(await findDatabase(db, principal.accountId, params.instanceId));
  });

  route(app, authenticate, deleteMysqlDatabase, async ({ principal, params }) => {
    await deleteDatabase(deps, principal, params.instanceId);
    return {};
  });

  route(app, authenticate, viewMysqlCredentials, async ({ principal, params }) => {
    requireVisible(principal);
    return readCredentials(deps, principal, params.instanceId);
  });
}

/** A restricted user has no grant yet, and what one may not see does not exist. */
function requireVisible(principal: Principal): void {
  if (principal.restricted) throw notFound();
}
