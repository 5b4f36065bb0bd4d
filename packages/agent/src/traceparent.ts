import { randomBytes } from "node:crypto";

/** Begins a trace (W3C Trace Context), which the gateway continues if it keeps traces. The agent itself keeps none. */
export const newTraceparent = (): string =>
  `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01`;
