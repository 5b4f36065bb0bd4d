export {
  type ComputeRow,
  type ComputeToShow,
  entityOfCompute,
  findComputeToShow,
  hasCompute,
  listComputesToShow,
  lockCompute,
  lockComputes,
  saveCompute,
} from "./compute-store.ts";
export { type DiskRow, findDiskOf, listDisks, markDiskDeleted, saveDisk } from "./disk-store.ts";
export {
  isChange,
  listEveryMaintenance,
  lockMaintenance,
  type MaintenanceRow,
  type MaintenanceStatus,
  type MaintenanceToView,
  saveMaintenance,
  saveMaintenanceStatus,
} from "./maintenance-store.ts";
export { moveComputes, removeCompute, type Renamed } from "./change-computes.ts";
export { inventoryRoutes } from "./routes.ts";
