export { type OperatorDeps, operatorRoutes } from "./routes.ts";
