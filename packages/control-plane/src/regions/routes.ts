import { listComputeTypes, listRegions, viewComputeType, viewRegion } from "@moorage/contract";
import type { FastifyInstance } from "fastify";
import { type RouteDeps, route } from "#http/index.ts";
import { notFound } from "#platform/errors.ts";
import { toPage } from "#platform/http/page.ts";
import { findPricedPlan, findRegion, pageOfPlans, pageOfRegions } from "./catalogue.ts";
import { viewOfComputeType, viewOfRegion } from "./view.ts";

export function regionRoutes(app: FastifyInstance, deps: RouteDeps): void {
  const { db, clock } = deps;

  route(app, deps, listRegions, async ({ page, filter }) => {
    const { rows, results } = await pageOfRegions(db, { page, filter });
    return toPage(page, results, rows.map(viewOfRegion));
  });

  route(app, deps, viewRegion, async ({ params }) => {
    const region = await findRegion(db, params.regionId);
    if (region === undefined) throw notFound();
    return viewOfRegion(region);
  });

  route(app, deps, listComputeTypes, async ({ page, filter }) => {
    const { rows, results } = await pageOfPlans(db, { page, filter }, clock());
    return toPage(page, results, rows.map(viewOfComputeType));
  });

  route(app, deps, viewComputeType, async ({ params }) => {
    const plan = await findPricedPlan(db, params.typeId, clock());
    if (plan === undefined) throw notFound();
    return viewOfComputeType(plan);
  });
}
