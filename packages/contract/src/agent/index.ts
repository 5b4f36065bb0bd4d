export * from "./node-spec.ts";
export * from "./protocol.ts";
