import type { WorkflowInput } from "#operations/workflow-id.ts";

/** For a wait that must not last as long as the operation may. */
export const within = (input: WorkflowInput, milliseconds: number): WorkflowInput => ({
  ...input,
  deadlineAt: new Date(Date.now() + milliseconds).toISOString(),
});

/** Hosts archive every minute, so that little is left to ship. */
export const SHIP_MS = 120_000;
