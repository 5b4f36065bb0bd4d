export {
  endOutage,
  type EngineId,
  type EngineVersion,
  findEngineId,
  findEngineVersion,
  findPlan,
  findPricedPlan,
  findRegion,
  listEngineVersions,
  listPlans,
  listRegions,
  type Plan,
  pageOfEngineIds,
  pageOfPlans,
  pageOfRegions,
  type Region,
  type PricedPlan,
  pricedPlans,
  saveEngineVersion,
  saveOutage,
  savePlan,
  saveRegion,
  takesDatabases,
} from "./catalogue.ts";
export { createOffers, type Offered, type Offers } from "./offers.ts";
export { regionRoutes } from "./routes.ts";
export { priceOf } from "./view.ts";
