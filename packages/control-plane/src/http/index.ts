export type { RouteDeps } from "./request-context.ts";
export { route } from "./route.ts";
