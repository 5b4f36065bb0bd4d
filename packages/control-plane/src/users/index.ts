export { listGrants, missingEntities, saveGrants, viewGrants } from "./grant-store.ts";
export { type UserRouteDeps, userRoutes } from "./routes.ts";
export { moveAddress } from "./update-user.ts";
export type { UserRow } from "./user-store.ts";
export { viewOfLogin } from "./user.ts";
