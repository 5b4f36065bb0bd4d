export { listEveryClient, type OAuthClientRow, setStatus, setTrust } from "./client-store.ts";
export { entityOfClient } from "./oauth-client.ts";
export { type OAuthClientRouteDeps, oauthClientRoutes } from "./routes.ts";
export { thumbnailUrl } from "./view.ts";
