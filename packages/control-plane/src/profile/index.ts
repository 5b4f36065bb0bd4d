export { createLoginTokens, createOwnTokens, type OwnTokens } from "./login-tokens.ts";
export { type ProfileRouteDeps, profileRoutes } from "./routes.ts";
