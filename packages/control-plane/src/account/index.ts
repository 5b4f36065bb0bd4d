export { cancelSteps } from "./cancel-account.ts";
export { createWhenCancelled } from "./close-account.ts";
export { reopenAccount } from "./reopen-account.ts";
export { type AccountRouteDeps, accountRoutes } from "./routes.ts";
export { emailOf } from "./view.ts";
