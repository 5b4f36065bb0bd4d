export { listGrants, missingEntities, saveGrants } from "./grant-store.ts";
export { moveAddress } from "./move-address.ts";
export { type UserRouteDeps, userRoutes } from "./routes.ts";
export { saveUserColumns, type UserColumns, type UserRow } from "./user-store.ts";
export { viewOfLogin } from "./view.ts";
export { viewGrants } from "./view-grants.ts";
