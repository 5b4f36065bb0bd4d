export * from "./archive.ts";
export * from "./gtid-set.ts";
export * from "./metric-names.ts";
export * from "./node-spec.ts";
export * from "./protocol.ts";
export * from "./replication-view.ts";
export * from "./reports.ts";
