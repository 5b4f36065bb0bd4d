import { createHash } from "node:crypto";

/**
 * The id of an order that a member may follow once. Derived from operation and phase, so that a repeated step has the
 * same id.
 */
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
