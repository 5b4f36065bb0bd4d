export {
  endRetention,
  grantCapability,
  numbering,
  revokeCapability,
  saveAccountColumns,
  setCustomer,
  setFirstCustomer,
  setInvoicedThrough,
  setLimits,
  showAvailability,
} from "./account-store.ts";
export { type AddressLink, dropAddressLinks, findAddressLink, insertAddressLink } from "./address-link-store.ts";
export { type Authenticate, closedAccountHolder, createAuthenticate, createTokenCache } from "./authenticate.ts";
export { invalidToken, whyNoToken } from "./invalid-token.ts";
export { dropEntityGrants, dropGrants, granting, mayUse, mayView, permissionOn, saveEntityGrants } from "./grants.ts";
export {
  type AccountLimits,
  findUser,
  isUserGone,
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
export {
  CONFIRMED_MS,
  isGranted,
  type Principal,
  requireConfirmed,
  requireKindOfUser,
  requirePermission,
  requireScopes,
  unrestrictedOnly,
} from "./principal.ts";
export { sealedByIdentity, tfaSecretPlace } from "./sealed-columns.ts";
export {
  changeToken,
  holdToken,
  issueToken,
  revokeAllTokens,
  revokeToken,
  saveAppToken,
  sweepAppTokens,
} from "./token-store.ts";
export {
  deleteUserRow,
  dropAllPasswordLinks,
  dropGlobalGrants,
  dropPasswordLinks,
  insertPasswordLink,
  insertUser,
  replacePasswordHash,
  saveGlobalGrants,
  saveSignIn,
  saveUserColumns,
  takePasswordLink,
  type UserColumns,
  useTfaStep,
} from "./user-store.ts";
