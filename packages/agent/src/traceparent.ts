import { randomBytes } from "node:crypto";

/** Starts a trace (W3C Trace Context), which the gateway continues if it records traces. The agent records none. */
export const newTraceparent = (): string =>
  `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01`;
