/** The workflow of an operation. Derived from its row, so that whoever starts it starts the same one. */
export const workflowIdOf = ({ id, run }: { id: number; run: number }): string =>
  run === 0 ? `op-${id}` : `op-${id}-r${run}`;

/** What every workflow gets: ids, nothing that could grow old. */
export type WorkflowInput = { operationId: number; deadlineAt: string };

/** An empty signal: look again. */
export const RECHECK_SIGNAL = "recheck";

export const TASK_QUEUE = "moorage";
