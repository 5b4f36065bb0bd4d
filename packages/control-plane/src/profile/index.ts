export { type ProfileRouteDeps, profileRoutes } from "./routes.ts";
