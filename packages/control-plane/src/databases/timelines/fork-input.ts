import type { OperationRow } from "#operations/index.ts";

/** What a fork begins from: a timeline of its source, as of a time; without one, all that was committed to it. */
export type ForkInput = { fork: { timeline: string; until?: string } };

export const forkOf = ({ input }: OperationRow): ForkInput["fork"] | undefined => (input as Partial<ForkInput>).fork;
