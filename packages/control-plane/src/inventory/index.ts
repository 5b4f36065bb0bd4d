export {
  type ComputeRow,
  type ComputeToShow,
  findComputeToShow,
  hasCompute,
  listComputesToShow,
  lockCompute,
  lockComputes,
  saveCompute,
} from "./compute-store.ts";
export { type DiskRow, findDiskOf, listDisks, markDiskDeleted, saveDisk } from "./disk-store.ts";
export { entityOfCompute } from "./entity.ts";
export { LONGEST_LABEL } from "./free-label.ts";
export { isChange, type MaintenanceRow, type MaintenanceStatus } from "./maintenance.ts";
export {
  listEveryMaintenance,
  lockMaintenance,
  type MaintenanceToView,
  saveMaintenance,
  saveMaintenanceStatus,
} from "./maintenance-store.ts";
export { moveComputes, type Renamed } from "./move-computes.ts";
export { removeCompute } from "./remove-compute.ts";
export { inventoryRoutes } from "./routes.ts";
