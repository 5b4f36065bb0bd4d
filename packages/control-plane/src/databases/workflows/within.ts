import type { WorkflowInput } from "#operations/workflow-id.ts";

/** For a wait that must be shorter than the operation's. */
export const within = (input: WorkflowInput, milliseconds: number): WorkflowInput => ({
  ...input,
  deadlineAt: new Date(Date.now() + milliseconds).toISOString(),
});

/** Hosts archive every minute, so little is left to ship. */
export const SHIP_MS = 120_000;
