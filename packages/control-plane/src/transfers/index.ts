export { acceptSteps } from "./accept-transfer.ts";
export { createTransferActivities, createTransferExpiry } from "./activities.ts";
export { createStaleTransfersJob, staleSteps } from "./end-stale.ts";
export { type TransferRouteDeps, transferRoutes } from "./routes.ts";
