export { type Authenticate, createAuthenticate } from "./authenticate.ts";
export { dropGrants, granting, mayUse, mayView } from "./grants.ts";
export {
  type AccountLimits,
  findUser,
  issueToken,
  type NewAccount,
  type NewUser,
  saveAccount,
  saveUser,
} from "./identity-store.ts";
export { counting, giveBackToLimits, requireWithinLimits, takeFromLimits, takeWithoutLimits } from "./limits.ts";
export { type RouteDeps, route } from "./operation-route.ts";
export type { Principal } from "./principal.ts";
export { createTokenCache } from "./token-cache.ts";
