import { createHash } from "node:crypto";

/** Names what a member may do once. It follows from who asks for it and when, so that a repeated step asks for the same. */
export function orderId(operationId: number, phase: string): string {
  const hash = createHash("sha256").update(`order ${operationId} ${phase}`).digest("hex");
  return [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `8${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ].join("-");
}
