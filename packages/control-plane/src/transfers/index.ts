export { acceptSteps } from "./accept-transfer.ts";
export { createTransferActivities, createTransferExpiry } from "./activities.ts";
export { createStaleTransfersJob, staleSteps } from "./create-transfer.ts";
export { sealedByTransfers } from "./transfer.ts";
export { type TransferRouteDeps, transferRoutes } from "./routes.ts";
