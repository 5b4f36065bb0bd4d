import { listMysqlFailovers, promoteMysqlNode, switchMysqlPrimary } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { route, type RouteDeps } from "#http/index.ts";
import { notFound } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { hasDatabase } from "../../model/database-store.ts";
import { promote } from "./promote.ts";
import { listFailoverPage, viewOfFailover } from "./failover-store.ts";
import { type SwitchDeps, switchOver } from "./switch-over.ts";

export type FailoverRouteDeps = RouteDeps & SwitchDeps;

export const failoverSteps = ["api.switchMysqlPrimary", "api.promoteMysqlNode"] as const;

export function failoverRoutes(app: FastifyInstance, deps: FailoverRouteDeps): void {
  route(app, deps, listMysqlFailovers, async ({ principal, params, page, filter }) => {
    const owner = { accountId: principal.accountId, databaseId: params.instanceId };
    if (!(await hasDatabase(deps.db, owner.accountId, owner.databaseId))) throw notFound();
    const { rows, results } = await listFailoverPage(deps.db, owner, page, filter);
    return toPage(page, results, rows.map(viewOfFailover));
  });

  route(app, deps, switchMysqlPrimary, async ({ principal, params, idempotency }) => {
    await switchOver(deps, principal, params.instanceId, idempotency);
    return {};
  });

  route(app, deps, promoteMysqlNode, async ({ principal, params, body, idempotency }) => {
    await promote(deps, principal, { id: params.instanceId, acceptsLoss: body.accept_loss === true }, idempotency);
    return {};
  });
}
