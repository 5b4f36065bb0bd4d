export { createLoginTokens } from "./login-tokens.ts";
export { createOwnTokens, type OwnTokens } from "./own-tokens.ts";
export { type ProfileRouteDeps, profileRoutes } from "./routes.ts";
