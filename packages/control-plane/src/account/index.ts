export { cancelSteps } from "./cancel-account.ts";
export { createWhenCancelled, reopenAccount } from "./close-account.ts";
export { type AccountRouteDeps, accountRoutes } from "./routes.ts";
export { emailOf } from "./view.ts";
