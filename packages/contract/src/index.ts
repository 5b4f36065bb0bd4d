export * from "./databases.ts";
export * from "./events.ts";
export * from "./operation.ts";
export * from "./operations.ts";
export * from "./regions.ts";
export * from "./source.ts";
export * from "./wire.ts";
