export {
  type EngineVersion,
  findEngineVersion,
  findPlan,
  findRegion,
  listEngineVersions,
  listPlans,
  listRegions,
  type Plan,
  pageOfEngineVersions,
  pageOfPlans,
  saveEngineVersion,
  savePlan,
  saveRegion,
} from "./catalogue.ts";
export { createOffers, type Offered, type Offers } from "./offers.ts";
export { regionRoutes } from "./routes.ts";
export { priceOf } from "./view.ts";
