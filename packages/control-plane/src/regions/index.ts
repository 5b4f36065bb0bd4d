export {
  type EngineVersion,
  findEngineVersion,
  findPlan,
  findRegion,
  listEngineVersions,
  listPlans,
  listRegions,
  type Plan,
  saveEngineVersion,
  savePlan,
  saveRegion,
} from "./catalogue.ts";
