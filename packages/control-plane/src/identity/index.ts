export { type Authenticate, createAuthenticate } from "./authenticate.ts";
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
export type { Principal } from "./principal.ts";
