import type { OperationRow } from "#operations/index.ts";

/** The point that a fork starts from: a timeline of its source, as of a time; without one, everything committed. */
export type ForkInput = { fork: { timeline: string; until?: string } };

export const forkOf = ({ input }: OperationRow): ForkInput["fork"] | undefined => (input as Partial<ForkInput>).fork;
