export { type Authenticate, createAuthenticate } from "./authenticate.ts";
export { invalidToken, whyNoToken } from "./invalid-token.ts";
export { dropGrants, granting, mayUse, mayView } from "./grants.ts";
export {
  type AccountLimits,
  findUser,
  type NewAccount,
  type NewUser,
  saveAccount,
  saveUser,
} from "./identity-store.ts";
export {
  counting,
  releaseFromLimits,
  requireFewerThan,
  requireWithinLimits,
  takeFromLimits,
  takeWithoutLimits,
} from "./limits.ts";
export {
  createLoginSweep,
  findLogin,
  listLoginPage,
  type LoginRow,
  recordLogin,
} from "./login-store.ts";
export { type RouteDeps, route } from "./operation-route.ts";
export { isGranted, type Principal, unrestrictedOnly } from "./principal.ts";
export { createTokenCache } from "./token-cache.ts";
export { holdToken, issueToken } from "./token-store.ts";
