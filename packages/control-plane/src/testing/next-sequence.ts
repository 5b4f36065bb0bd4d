import type { Sequence } from "@moorage/contract/agent";

let count = 0;

/** Of agents that are never started again. One count for all, so that each of their requests is newer than the last. */
export const nextSequence = (): Sequence => ({ start: 1, count: ++count });
