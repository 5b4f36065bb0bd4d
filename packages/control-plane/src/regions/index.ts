export {
  endOutage,
  type EngineVersion,
  findEngineVersion,
  findPlan,
  findPricedPlan,
  findRegion,
  listEngineVersions,
  listPlans,
  listRegions,
  type Plan,
  pageOfEngineVersions,
  pageOfPlans,
  type Region,
  type PricedPlan,
  pricedPlans,
  saveEngineVersion,
  saveOutage,
  savePlan,
  saveRegion,
} from "./catalogue.ts";
export { createOffers, type Offered, type Offers } from "./offers.ts";
export { regionRoutes } from "./routes.ts";
export { priceOf } from "./view.ts";
