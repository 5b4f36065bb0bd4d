export { listEveryClient, type OAuthClientRow, setStatus, setTrust, setVerified } from "./client-store.ts";
export { entityOfClient, thumbnailUrl } from "./oauth-client.ts";
export { type OAuthClientRouteDeps, oauthClientRoutes } from "./routes.ts";
