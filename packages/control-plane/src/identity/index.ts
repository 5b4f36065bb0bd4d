export { type Authenticate, createAuthenticate, sha256 } from "./authenticate.ts";
export {
  type AccountLimits,
  findUser,
  issueToken,
  type NewAccount,
  type NewUser,
  saveAccount,
  saveUser,
} from "./identity-store.ts";
export { giveBackToLimits, takeFromLimits, takeWithoutLimits } from "./limits.ts";
export { route } from "./operation-route.ts";
export { holds, type Principal, requireAccess } from "./principal.ts";
