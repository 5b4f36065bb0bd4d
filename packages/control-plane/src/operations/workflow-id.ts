/** The workflow id of an operation. Derived from its row, so that every starter starts the same workflow. */
export const workflowIdOf = ({ id, run }: { id: number; run: number }): string =>
  run === 0 ? `op-${id}` : `op-${id}-r${run}`;

/** The input of every workflow: only values that never become outdated. */
export type WorkflowInput = { operationId: number; deadlineAt: string };

/** A signal without content: read the tables again. */
export const RECHECK_SIGNAL = "recheck";

export const TASK_QUEUE = "moorage";
