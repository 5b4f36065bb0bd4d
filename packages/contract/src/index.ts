export * from "./databases.ts";
export * from "./events.ts";
export * from "./operation.ts";
export * from "./wire.ts";
