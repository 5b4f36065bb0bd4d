export { emit, endEvent, type NewEvent } from "./emit.ts";
export { eventRoutes } from "./routes.ts";
